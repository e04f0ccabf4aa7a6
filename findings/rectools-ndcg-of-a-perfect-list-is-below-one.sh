#!/usr/bin/env bash
# Guess: NDCG of a list that has all relevant items on top is 1.
# Behaviour: in RecTools 0.19.0 the divisor is the DCG of k relevant items, whatever a user has: one relevant item
# at rank 1 has NDCG@3 of .4693. divide_by_achievable=True gives 1.
# Why it matters: the figure rises with the number of relevant items and falls with k; it cannot be compared with
# nDCG of any other tool, nor between data sets.
# Source: rectools, metrics/ranking.py (NDCG, divide_by_achievable=False by default).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    rectools==0.19.0 numpy==1.26.4 pandas==2.3.3 scipy==1.15.3

expected='1 relevant: 0.4693 0.3392 1.0
2 relevant: 0.7654 0.5531 1.0
3 relevant: 1.0 0.7227 1.0'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pandas as pd
from rectools.metrics import NDCG

recommended = pd.DataFrame({"user_id": 1, "item_id": [1, 2, 3, 4, 5], "rank": [1, 2, 3, 4, 5]})
for relevant in ([1], [1, 2], [1, 2, 3]):
    liked = pd.DataFrame({"user_id": 1, "item_id": relevant})
    measures = NDCG(3), NDCG(5), NDCG(3, divide_by_achievable=True)
    print(len(relevant), "relevant:", *(round(float(each.calc(recommended, liked)), 4) for each in measures))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
