#!/usr/bin/env bash
# Guess: 5 rounds and 5 more (init_model) give the model of 10 rounds, for data with positions as for data without.
# Behaviour: in LightGBM 4.7.0 this holds without positions only. The biases of the positions, which training learns
# along with the trees, are not in the model: they start from 0 again, while the trees so far were fitted to gradients
# corrected by them. The further trees learn the bias of the positions until it is estimated again.
# Why it matters: a ranker that is updated on new clicks is corrected for positions less than one trained at once.
# Source: src/objective/rank_objective.hpp: the biases are a member of the objective, set to 0 in its Init, and no part
# of the model file.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q lightgbm==4.7.0 numpy==2.4.6 scipy==1.17.1
cd "$work"
venv/bin/python - > observed <<'PYTHON'
import lightgbm
import numpy as np

random = np.random.default_rng(0)
X = random.normal(size=(900, 4))
y = np.digitize(X[:, 0] + X[:, 1] + 0.5 * random.normal(size=900), [0.5, 1.5])
parameters = {"objective": "lambdarank", "verbosity": -1, "num_threads": 1}


def train(position, rounds, first=None):
    data = lightgbm.Dataset(X, y, group=[15] * 60, position=position, free_raw_data=False)
    return lightgbm.train(parameters, data, rounds, init_model=first)


for name, position in (("without positions", None), ("with positions", np.tile(np.arange(15), 60))):
    once = train(position, 10).predict(X)
    twice = train(position, 5, train(position, 5)).predict(X)
    print(name, "5 and 5 rounds are 10 rounds:", np.allclose(once, twice))
trees = train(position, 5).model_to_string().partition("parameters:")[0]
print("position biases in the model file:", "position" in trees)
PYTHON
cat > expected <<'TEXT'
without positions 5 and 5 rounds are 10 rounds: True
with positions 5 and 5 rounds are 10 rounds: False
position biases in the model file: False
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
