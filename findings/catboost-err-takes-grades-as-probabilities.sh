#!/usr/bin/env bash
# Guess: CatBoost's ERR and PFound turn graded labels into probabilities, as (2^grade - 1) / 2^highest in the definition
# of ERR, or refuse labels above 1, as its QueryAUC does.
# Behaviour: CatBoost 1.2.10 takes the label itself as the probability that a document satisfies, without a check:
# grades give an ERR above 1 and a PFound below 0, and a worse order can have the higher figure.
# Why it matters: early stopping and the choice of a ranker by ERR or PFound go wrong on LETOR's grades 0 to 4 unless
# the labels are scaled before.
# Source: catboost/libs/metrics (TERRMetric, TPFoundMetric): the user stops with probability 1 - target.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-deps catboost==1.2.10 numpy==2.4.6 scipy==1.17.1 pandas==3.1.1 \
  python-dateutil==4.0.0 six==1.17.0
cd "$work"
venv/bin/python - > observed <<'PYTHON'
from catboost.utils import eval_metric


def figure(metric, labels):
    scores = list(range(len(labels), 0, -1))
    return round(eval_metric(labels, scores, metric, group_id=[0] * len(labels))[0], 4)


for metric in ("ERR", "PFound"):
    for labels in ([4, 2, 0], [4, 0, 2], [1, 0.5, 0], [1, 0, 0.5], [0, 0.5, 1]):
        print(metric, labels, figure(metric, labels))
try:
    figure("QueryAUC", [4, 2, 0])
except Exception as error:
    print("QueryAUC:", "[0, 1]" in str(error))
PYTHON
cat > expected <<'TEXT'
ERR [4, 2, 0] 1.0
ERR [4, 0, 2] 2.0
ERR [1, 0.5, 0] 1.0
ERR [1, 0, 0.5] 1.0
ERR [0, 0.5, 1] 0.4167
PFound [4, 2, 0] -1.1
PFound [4, 0, 2] -0.335
PFound [1, 0.5, 0] 1.0
PFound [1, 0, 0.5] 1.0
PFound [0, 0.5, 1] 0.7862
QueryAUC: True
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
