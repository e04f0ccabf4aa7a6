#!/usr/bin/env bash
# Guess: lightgbm.cv keeps the queries of a Dataset with group together; it has the groups, and measures nDCG with them.
# Behaviour: lightgbm.cv 4.7.0 does so for objective=lambdarank and rank_xendcg only. With a pointwise objective or a
# function as objective it draws rows, stratified by label: each query is in all folds, what is left of a query counts
# as one, and nDCG@5 of these short lists is far higher.
# Why it matters: pointwise, pairwise or own objectives are compared with lambdarank on different folds and lists.
# Source: lightgbm/engine.py, _make_n_folds: it looks at the name of the objective, not at the groups.
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
X = random.normal(size=(3000, 3))
y = np.digitize(X[:, 0] + 2 * random.normal(size=3000), [1, 3])
fold = np.arange(3000) // 30 % 5
folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(5)]


def squares(scores, data):
    return scores - data.get_label(), np.ones_like(scores)


def validated(objective, **arguments):
    data = lightgbm.Dataset(X, y, group=[30] * 100, free_raw_data=False)
    parameters = {"objective": objective, "metric": "ndcg", "eval_at": [5], "verbosity": -1, "num_leaves": 4}
    result = lightgbm.cv(parameters, data, 10, nfold=5, return_cvbooster=True, **arguments)
    groups = result["cvbooster"].boosters[0].valid_sets[0].get_group()
    return len(groups), result["valid ndcg@5-mean"][-1]


for name, objective in {"lambdarank": "lambdarank", "regression": "regression", "function": squares}.items():
    print(name, "queries in the first fold of five:", validated(objective)[0])
queries, figure = validated("regression", folds=folds)
print("with folds of queries:", queries)
print("nDCG@5 is too high by more than 0.2:", bool(validated("regression")[1] - figure > 0.2))
PYTHON
cat > expected <<'TEXT'
lambdarank queries in the first fold of five: 20
regression queries in the first fold of five: 100
function queries in the first fold of five: 100
with folds of queries: 20
nDCG@5 is too high by more than 0.2: True
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
