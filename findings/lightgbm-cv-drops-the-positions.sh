#!/usr/bin/env bash
# Guess: lightgbm.cv of a Dataset with positions measures models that are trained as train() does, with position bias.
# Behaviour: lightgbm.cv 4.7.0 trains without them: figures are those of a Dataset without positions, and
# lambdarank_position_bias_regularization changes nothing. Labels, weights, groups and init_score are kept in the
# folds. Dataset.subset, which makes them, has no positions.
# Why it matters: whether to correct clicks for their positions, and how much, cannot be chosen by cv, which always says
# that it makes no difference.
# Source: src/io/metadata.cpp: Metadata::Init for a subset copies the other fields, not the positions.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q lightgbm==4.7.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1
cd "$work"
venv/bin/python - > observed <<'PYTHON'
import lightgbm
import numpy as np

random = np.random.default_rng(0)
X = random.normal(size=(900, 4))
y = np.digitize(X[:, 0] + X[:, 1] + 0.5 * random.normal(size=900), [0.5, 1.5])


def data(position):
    return lightgbm.Dataset(X, y, group=[15] * 60, position=position, free_raw_data=False)


def parameters(regularization):
    common = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [5], "verbosity": -1, "num_threads": 1}
    return common | {"lambdarank_position_bias_regularization": regularization}


def trained(position, regularization=0.0):
    return lightgbm.train(parameters(regularization), data(position), 10).predict(X)


def validated(position, regularization=0.0):
    return lightgbm.cv(parameters(regularization), data(position), 10, nfold=3)["valid ndcg@5-mean"]


positions = np.tile(np.arange(15), 60)
for name, result in (("train()", trained), ("cv()", validated)):
    print(name, "changes with positions:", not np.allclose(result(None), result(positions)))
    print(name, "changes with regularization:", not np.allclose(result(positions), result(positions, 10.0)))
print("positions of a subset:", data(positions).construct().subset(range(150)).construct().get_position())
PYTHON
cat > expected <<'TEXT'
train() changes with positions: True
train() changes with regularization: True
cv() changes with positions: False
cv() changes with regularization: False
positions of a subset: None
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
