#!/usr/bin/env bash
# Guess: ndcg(labels, scores, k=2) is NDCG@2, the value of the first two documents.
# Behaviour: in metriks 0.0.2 the first k documents are left out and the rest is evaluated as a list of its own, against
# its own ideal. A perfect first document earns nothing, and a list that is wrong on its first two places can have 1.0.
# precision_at_k and recall_at_k of the same module look at the first k.
# Why it matters: the larger k, the less of what a user sees is measured; beside another tool's NDCG@k the figure means
# the opposite.
# Source: metriks, metriks/ranking.py (ndcg), whose docstring calls it "NDCG after k".

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    metriks==0.0.2 numpy==1.23.5

expected='labels [1, 1, 0, 1]: k=2 0.631, whole list 0.967, precision at 2 1.000
labels [0, 0, 1, 0]: k=2 1.000, whole list 0.500, precision at 2 0.000'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from metriks.ranking import ndcg, precision_at_k

scores = np.array([[4.0, 3.0, 2.0, 1.0]])
for labels in ([1, 1, 0, 1], [0, 0, 1, 0]):
    y = np.array([labels])
    print(f"labels {labels}: k=2 {ndcg(y, scores, k=2):.3f}, whole list {ndcg(y, scores):.3f}, "
          f"precision at 2 {precision_at_k(y, scores, 2):.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
