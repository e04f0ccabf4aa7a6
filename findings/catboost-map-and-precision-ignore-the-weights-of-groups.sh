#!/usr/bin/env bash
# Guess: group_weight weighs the queries in all of CatBoost's ranking measures, as it does in NDCG; or in none.
# Behaviour: in CatBoost 1.2.10 NDCG, DCG, MRR, ERR, PFound and AverageGain are means that are weighted by
# group_weight; MAP, PrecisionAt and RecallAt give the plain mean, and no message. With the weights 3 and 1, of two
# queries of which the first is answered right and the second is not, MRR is .875 and MAP .75.
# Why it matters: with eval_metric=MAP early stopping and the best iteration follow other queries than the loss, which
# is weighted; two measures of one table average over different populations. RR and AP of queries with one relevant
# document, which are the same, differ.
# Source: CatBoost, catboost/libs/metrics/metric.cpp: TMAPKMetric, TPrecisionAtKMetric and TRecallAtKMetric add 1 for
# each query to the sum of weights, TMRRMetric and TDcgMetric the weight of its group. docs, Ranking: objectives and
# metrics, list use_weights for some and not for others.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check catboost==1.2.10 numpy==2.4.6 pandas==3.0.3 scipy==1.17.1

expected='NDCG: 0.8155, with weights 0.9077
DCG: 0.8155, with weights 0.9077
MRR: 0.7500, with weights 0.8750
ERR: 0.7500, with weights 0.8750
PFound: 0.9250, with weights 0.9625
AverageGain:top=1: 0.5000, with weights 0.7500
MAP: 0.7500, with weights 0.7500
PrecisionAt:top=1: 0.5000, with weights 0.5000
RecallAt:top=1: 0.5000, with weights 0.5000'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from catboost.utils import eval_metric

labels, scores, group = [1, 0, 0, 1], [0.9, 0.1, 0.8, 0.2], [1, 1, 2, 2]
for name in ("NDCG", "DCG", "MRR", "ERR", "PFound", "AverageGain:top=1", "MAP", "PrecisionAt:top=1", "RecallAt:top=1"):
    plain = eval_metric(labels, scores, name, group_id=group)[0]
    weighted = eval_metric(labels, scores, name, group_id=group, group_weight=[3, 3, 1, 1])[0]
    print(f"{name}: {plain:.4f}, with weights {weighted:.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
