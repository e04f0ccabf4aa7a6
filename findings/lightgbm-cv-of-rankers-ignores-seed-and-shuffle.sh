#!/usr/bin/env bash
# Guess: lightgbm.cv(seed=...) shuffles the queries of a ranking Dataset into folds, so that repeats with other seeds
# give other folds.
# Behaviour: for lambdarank and rank_xendcg, lightgbm.cv 4.7.0 ignores seed, shuffle and stratified: the folds are
# scikit-learn's GroupKFold by the sizes of the queries, always the same. Queries of equal size are dealt out in turn.
# Why it matters: repeated cross-validation of a ranker has a spread of 0, and an order of the queries with a period
# (languages, days, sources) ends up in the folds.
# Source: lightgbm/engine.py, _make_n_folds, the branch for ranking objectives: only nfold is passed on.
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
X = random.normal(size=(1000, 3))
y = np.digitize(X[:, 0] + random.normal(size=1000), [0.5, 1.5])


def validated(objective, query=None, **arguments):
    values = X if query is None else np.repeat(np.arange(50.0), 20)[:, None]
    data = lightgbm.Dataset(values, y, group=[20] * 50, free_raw_data=False)
    parameters = {"objective": objective, "metric": "ndcg", "eval_at": [5], "verbosity": -1, "num_threads": 1}
    return lightgbm.cv(parameters, data, 5, nfold=5, return_cvbooster=query is not None, **arguments)


for objective in ("lambdarank", "rank_xendcg", "regression"):
    results = [validated(objective, seed=seed) for seed in range(5)]
    print(objective, "different results:", len({str(result) for result in results}))
booster = validated("lambdarank", query=True, seed=7)["cvbooster"].boosters[0]
rows = booster.valid_sets[0].used_indices
print("queries of the first fold with seed 7:", *np.unique(np.array(rows) // 20).tolist())
PYTHON
cat > expected <<'TEXT'
lambdarank different results: 1
rank_xendcg different results: 1
regression different results: 5
queries of the first fold with seed 7: 4 9 14 19 24 29 34 39 44 49
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
