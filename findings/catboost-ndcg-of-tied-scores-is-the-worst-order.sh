#!/usr/bin/env bash
# Guess: CatBoost's NDCG, MAP and MRR of documents with the same score depend on the order of the rows, as in LightGBM
# and XGBoost, or are a mean over the orders.
# Behaviour: CatBoost 1.2.10 puts the documents with the lowest labels first among those of one score: the figure is
# that of the worst order, whatever the order of the rows.
# Why it matters: nDCG of the same scores differs between the libraries wherever scores tie (few leaves, integer or
# rounded scores, a constant model), and not by the gain alone.
# Source: catboost/libs/metrics: documents are sorted by prediction downwards and then by target upwards.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-deps catboost==1.2.10 numpy==2.4.6 scipy==1.17.1 pandas==3.1.1 \
  python-dateutil==4.0.0 six==1.17.0
cd "$work"
venv/bin/python - > observed <<'PYTHON'
from catboost.utils import eval_metric

query = [0] * 4
for metric in ("NDCG", "MAP", "MRR", "PrecisionAt:top=1"):
    for labels in ([1, 0, 0, 0], [0, 0, 0, 1]):
        figure = eval_metric(labels, [5, 5, 5, 5], metric, group_id=query)[0]
        print(metric, labels, "tied:", round(figure, 4))
figure = eval_metric([1, 0, 0, 0], [4, 3, 2, 1], "NDCG", group_id=query)
print("NDCG [1, 0, 0, 0] not tied:", *figure)
PYTHON
cat > expected <<'TEXT'
NDCG [1, 0, 0, 0] tied: 0.4307
NDCG [0, 0, 0, 1] tied: 0.4307
MAP [1, 0, 0, 0] tied: 0.25
MAP [0, 0, 0, 1] tied: 0.25
MRR [1, 0, 0, 0] tied: 0.25
MRR [0, 0, 0, 1] tied: 0.25
PrecisionAt:top=1 [1, 0, 0, 0] tied: 0.0
PrecisionAt:top=1 [0, 0, 0, 1] tied: 0.0
NDCG [1, 0, 0, 0] not tied: 1.0
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
