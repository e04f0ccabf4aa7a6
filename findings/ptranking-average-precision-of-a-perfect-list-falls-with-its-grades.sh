#!/usr/bin/env bash
# Guess: torch_ap_at_ks of PT-Ranking, which makes the grades of the list binary, divides by the number of relevant
# documents; a list in the ideal order has an average precision of 1.
# Behaviour: PT-Ranking 0.0.5 divides by the sum of the first k grades of the ideal list. The best order of the grades 2
# 1 1 0 has .75, of 4 4 4 4 it has .25, and of 1 1 1 0 it has 1. Precision at the same cutoffs, and nDCG, are as
# elsewhere.
# Why it matters: the data sets that the library loads have grades to 2 or 4. Queries with the best documents have the
# lowest values, so that a mean over queries tells what grades they have.
# Source: ptranking, metric/adhoc_metric.py (torch_ap_at_ks: batch_ideal_sorted_labels is summed as it is).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    torch==2.13.0 numpy==1.26.4 scipy==1.15.3 scikit-learn==1.5.2 pandas==2.2.3
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps ptranking==0.0.5

expected='grades 1 1 1 0: AP 1.00, AP at 1 1.00, precision at 1 1.00, nDCG 1.00
grades 2 1 1 0: AP 0.75, AP at 1 0.50, precision at 1 1.00, nDCG 1.00
grades 4 4 4 4: AP 0.25, AP at 1 0.25, precision at 1 1.00, nDCG 1.00
grades 4 3 0 0: AP 0.29, AP at 1 0.25, precision at 1 1.00, nDCG 1.00'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import torch
from ptranking.metric.adhoc_metric import torch_ap_at_ks, torch_nDCG_at_ks, torch_precision_at_ks

for grades in ([1, 1, 1, 0], [2, 1, 1, 0], [4, 4, 4, 4], [4, 3, 0, 0]):
    ideal = torch.tensor([grades], dtype=torch.float)
    ks = [1, 4]
    ap = torch_ap_at_ks(ideal, ideal, ks)[0].tolist()
    precision = torch_precision_at_ks(ideal, ks)[0].tolist()
    ndcg = torch_nDCG_at_ks(ideal, ideal, ks)[0].tolist()
    print(f"grades {' '.join(map(str, grades))}: AP {ap[1]:.2f}, AP at 1 {ap[0]:.2f}, "
          f"precision at 1 {precision[0]:.2f}, nDCG {ndcg[1]:.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
