#!/usr/bin/env bash
# Guess: weights of documents in a validation set weigh their gains within the query, or are left out of nDCG.
# Behaviour: the nDCG of a query has no weights, and the mean over queries weighs each by the mean weight of its
# documents (LightGBM 4.7.0): one document of weight 31 among 10 makes its query count four times, whether it is
# relevant or not.
# Why it matters: weights that correct the bias of single clicks, or that are large for rare documents, change which
# queries early stopping listens to.
# Source: src/metric/rank_metric.hpp (query_weights) and src/io/metadata.cpp, CalculateQueryWeights.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check lightgbm==4.7.0 numpy==2.3.4

expected='without weights                     0.6445, mean of both 0.6445
one document of 31 in the first     0.8578, mean with 4:1 0.8578'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import lightgbm
import numpy as np

X = np.arange(20.0).reshape(-1, 1)
y = np.zeros(20)
y[9] = 1  # last of the first query: best where scores rise with the row
y[10] = 1  # first of the second query: worst
first = np.ones(20)
first[0] = 31  # a document without relevance


def ndcg(weights):
    model = lightgbm.train(
        {"objective": "lambdarank", "min_data_in_leaf": 1, "verbose": -1, "learning_rate": 1.0},
        lightgbm.Dataset(X, np.r_[y[:10], y[:10]], group=[10, 10]),
        1,
    )
    seen = {}
    lightgbm.train(
        {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "verbose": -1, "learning_rate": 1e-12},
        lightgbm.Dataset(X, y, group=[10, 10], init_score=np.tile(np.arange(10.0), 2)),
        1,
        valid_sets=[lightgbm.Dataset(X, y, group=[10, 10], weight=weights, init_score=np.tile(np.arange(10.0), 2))],
        valid_names=["v"],
        callbacks=[lightgbm.record_evaluation(seen)],
    )
    return seen["v"]["ndcg@10"][0]


best, worst = 1.0, 1 / np.log2(11)
print(f"without weights                     {ndcg(None):.4f}, mean of both {(best + worst) / 2:.4f}")
print(f"one document of 31 in the first     {ndcg(first):.4f}, mean with 4:1 {(4 * best + worst) / 5:.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
