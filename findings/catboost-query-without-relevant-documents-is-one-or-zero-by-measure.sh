#!/usr/bin/env bash
# Guess: CatBoost has one rule for a query without a relevant document: all its measures leave it out, or all count
# it alike.
# Behaviour: in CatBoost 1.2.10 such a query is 1 for NDCG and RecallAt, and 0 for MAP, MRR and PrecisionAt.
# Why it matters: emptying a fifth of the queries raises two figures and lowers three; trec_eval counts 0 for all
# five.
# Source: CatBoost, libs/metrics/metric.cpp and dcg.cpp, precision_recall_at_k.cpp.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    catboost==1.2.10 numpy==2.4.6 scipy==1.17.1 pandas==2.3.3

expected='NDCG counts an empty query as 1.0
RecallAt:top=5 counts an empty query as 1.0
MAP counts an empty query as 0.0
MRR counts an empty query as 0.0
PrecisionAt:top=5 counts an empty query as 0.0'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from catboost.utils import eval_metric

random = np.random.default_rng(0)
scores = random.normal(size=400)
labels = random.integers(0, 2, 400)
labels[:80] = 0
queries = np.repeat(np.arange(20), 20)
for measure in ("NDCG", "RecallAt:top=5", "MAP", "MRR", "PrecisionAt:top=5"):
    everything = eval_metric(labels, scores, measure, group_id=queries)[0]
    others = eval_metric(labels[80:], scores[80:], measure, group_id=queries[80:])[0]
    print(measure, "counts an empty query as", round((20 * everything - 16 * others) / 4, 6) + 0.0)
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
