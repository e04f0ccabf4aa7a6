#!/usr/bin/env bash
# Guess: an item that the ground truth has three times is one relevant item, and a list of all relevant items has NDCG
# and MAP 1.
# Behaviour: in replay-rec 0.22.0 hits are looked up by item, but the ideal of NDCG and the divisor of MAP count the
# rows of the ground truth. With the item 5 bought three times and 6 once, the perfect list has NDCG 0.64 and MAP 0.5,
# while recall is 1; pandas and Polars agree, and frames of Spark are made sets first.
# Why it matters: logs of purchases or plays have repeated rows. The users who come back most lower the means, and no
# warning says so: the one there is concerns the recommendations.
# Source: replay/metrics/ndcg.py, map.py (len of ground_truth) and base_metric.py (collect_set for Spark only).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    replay-rec==0.22.0 numpy==1.26.4 pandas==2.3.3 polars==1.44.2 scipy==1.17.1

expected='[5, 6] pandas NDCG@10 1.000 MAP@10 1.000 Recall@10 1.000
[5, 6] polars NDCG@10 1.000 MAP@10 1.000 Recall@10 1.000
[5, 5, 5, 6] pandas NDCG@10 0.637 MAP@10 0.500 Recall@10 1.000
[5, 5, 5, 6] polars NDCG@10 0.637 MAP@10 0.500 Recall@10 1.000'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pandas as pd
import polars as pl
from replay.metrics import MAP, NDCG, Recall

recommended = pd.DataFrame({"query_id": [1, 1], "item_id": [5, 6], "rating": [2.0, 1.0]})
for items in ([5, 6], [5, 5, 5, 6]):
    truth = pd.DataFrame({"query_id": 1, "item_id": items})
    for name, convert in (("pandas", lambda frame: frame), ("polars", pl.from_pandas)):
        values = [metric(10)(convert(recommended), convert(truth)) for metric in (NDCG, MAP, Recall)]
        print(items, name, *(f"{key} {value:.3f}" for found in values for key, value in found.items()))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
