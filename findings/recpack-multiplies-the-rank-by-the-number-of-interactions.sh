#!/usr/bin/env bash
# Guess: a test matrix that counts interactions (3 for an item bought three times) gives reciprocal rank and NDCG as
# the same matrix of ones does, or weighs the item more.
# Behaviour: in RecPack 0.3.6 the rank of a hit is multiplied by its value. The item at rank 1 with the value 3 has the
# reciprocal rank 1/3, its discount is that of rank 3, and the ideal counts it as three items; recall is divided by the
# sum of the values while a hit counts once.
# Why it matters: InteractionMatrix.values counts repeated interactions, so that the users who come back most, and
# lists that put their items first, have the lowest figures.
# Source: recpack/metrics/reciprocal_rank.py, dcg.py (y_pred_top_K.multiply(y_true)) and recall.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==1.26.4 scipy==1.17.1 pandas==2.3.3 scikit-learn==1.8.0 PyYAML==6.0.4
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps recpack==0.3.6

expected='[1, 0, 0, 0] ReciprocalRankK_4 1.000 NDCGK_4 1.000 RecallK_4 1.000
[3, 0, 0, 0] ReciprocalRankK_4 0.333 NDCGK_4 0.704 RecallK_4 0.333
[1, 1, 0, 0] ReciprocalRankK_4 1.000 NDCGK_4 1.000 RecallK_4 1.000
[3, 1, 0, 0] ReciprocalRankK_4 0.500 NDCGK_4 0.832 RecallK_4 0.500'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from recpack.metrics import NDCGK, RecallK, ReciprocalRankK
from scipy.sparse import csr_matrix

scores = csr_matrix(np.array([[0.9, 0.8, 0.7, 0.6]]))
for counts in ([1, 0, 0, 0], [3, 0, 0, 0], [1, 1, 0, 0], [3, 1, 0, 0]):
    values = []
    for metric in (ReciprocalRankK(4), NDCGK(4), RecallK(4)):
        metric.calculate(csr_matrix(np.array([counts], dtype=float)), scores)
        values.append(f"{metric.name} {metric.value:.3f}")
    print(counts, *values)
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
