#!/usr/bin/env bash
# Guess: the metric "ndcg" of FLAML, which AutoML takes for task="rank" when none is named, is the mean nDCG of the
# queries whose groups it is given.
# Behaviour: in FLAML 2.8.0 the groups are used by "ndcg@K" alone; "ndcg" is the nDCG of one list of all documents of
# all queries. A constant for each query on top of the scores, which changes no query's order, takes it from 0.775 to
# 0.818 here, while ndcg@8, of all 8 documents of each query, stays.
# Why it matters: scores of rankers are only comparable within a query. The search for a model prefers those that
# tell queries with many relevant documents from others, and may reject the best order.
# Source: FLAML, flaml/automl/ml.py (sklearn_metric_loss_score: ndcg_score of the whole vectors where the name has no
# cutoff); flaml/automl/task: the default metric of a rank task is ndcg.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    flaml==2.8.0 numpy==1.26.4 scipy==1.17.1 pandas==2.3.3 scikit-learn==1.9.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps xgboost-cpu==3.2.0 lightgbm==4.7.0

expected='scores: ndcg 0.775, ndcg@8 0.804; mean of queries 0.804, one list 0.775
moved by query: ndcg 0.818, ndcg@8 0.804; mean of queries 0.804, one list 0.818'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from flaml.automl.ml import sklearn_metric_loss_score
from sklearn.metrics import ndcg_score

random = np.random.default_rng(0)
queries, documents = 10, 8
groups = np.repeat(np.arange(queries), documents)
labels = random.integers(0, 4, size=queries * documents)
scores = random.normal(size=queries * documents)
moved = scores + 5 * groups
for name, values in (("scores", scores), ("moved by query", moved)):
    figures = [1 - sklearn_metric_loss_score(metric, values, labels, groups=groups) for metric in ("ndcg", "ndcg@8")]
    mean = ndcg_score(labels.reshape(queries, documents), values.reshape(queries, documents))
    one = ndcg_score([labels], [values])
    print(f"{name}: ndcg {figures[0]:.3f}, ndcg@8 {figures[1]:.3f}; mean of queries {mean:.3f}, one list {one:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
