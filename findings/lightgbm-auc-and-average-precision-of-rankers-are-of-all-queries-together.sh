#!/usr/bin/env bash
# Guess: with queries in the data, the metrics auc and average_precision of LightGBM are means over the queries, as its
# ndcg and map are, and as auc of XGBoost is.
# Behaviour: in LightGBM 4.7.0 they are those of one list of all documents; the queries are not looked at. Starting
# scores with another constant for each query, which change no order within a query, take auc from 0.82 to 0.60 and
# average_precision from 0.87 to 0.68, and leave ndcg and map as they are; auc by query is 0.82 with both.
# Why it matters: scores of lambdarank are comparable within a query alone; average_precision is taken for MAP, and
# early stopping by either prefers a model that guesses which queries have many relevant documents.
# Source: LightGBM, src/metric/binary_metric.hpp (AUCMetric and AveragePrecisionMetric have no query boundaries).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lightgbm==4.7.0 numpy==1.26.4 scipy==1.17.1

expected='start 0: auc 0.82, average_precision 0.87, ndcg@10 0.96, map@10 0.91; auc by query 0.82
start by query: auc 0.60, average_precision 0.68, ndcg@10 0.96, map@10 0.91; auc by query 0.82'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import lightgbm
import numpy as np

random = np.random.default_rng(0)
queries, documents = 60, 10
X = random.normal(size=(queries * documents, 2))
y = (X[:, 0] + random.normal(size=len(X)) > -0.5).astype(int)
starts = {"start 0": np.zeros(len(X)), "start by query": np.repeat(3 * random.normal(size=queries), documents)}


def auc_by_query(scores):
    values = []
    for labels, query in zip(y.reshape(queries, documents), scores.reshape(queries, documents)):
        if 0 < labels.sum() < documents:
            values.append(np.mean(query[labels == 1][:, None] > query[labels == 0]))
    return np.mean(values)


for name, start in starts.items():
    figures = {}
    data = lightgbm.Dataset(X, y, group=[documents] * queries, init_score=start)
    parameters = {"objective": "lambdarank", "metric": ["auc", "average_precision", "ndcg", "map"], "eval_at": [10],
                  "num_leaves": 4, "num_threads": 1, "verbose": -1}
    model = lightgbm.train(parameters, data, 10, valid_sets=[data], valid_names=["data"],
                           callbacks=[lightgbm.record_evaluation(figures)])
    values = ", ".join(f"{metric} {values[-1]:.2f}" for metric, values in figures["data"].items())
    print(f"{name}: {values}; auc by query {auc_by_query(model.predict(X) + start):.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
