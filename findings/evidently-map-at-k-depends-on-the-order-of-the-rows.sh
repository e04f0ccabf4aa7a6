#!/usr/bin/env bash
# Guess: MAPKMetric depends on the ranks and labels of a user, not on the order of the rows of the frame.
# Behaviour: in evidently 0.7.23 the label at rank k is that of the last row whose rank is at most k, wherever this row
# stands. With the rows from the top of the list down it is the right one; with the rows turned round it is always that
# of rank 1, and the MAP of the same list falls from 0.583 to 0. Precision and NDCG do not move.
# Why it matters: frames come sorted by item, time or label, and MAP and MAR then change with the order and with
# nothing else; a report that compares two periods shows a drift of the metric.
# Source: evidently/legacy/metrics/recsys/precision_recall_k.py (agg of "last" over rows that are not sorted).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    --no-compile numpy==1.26.4 pandas==2.3.3 scikit-learn==1.8.0 plotly==5.24.1 pydantic==2.14.4 \
    litestar==2.25.0 nltk==3.10.4 opentelemetry-proto==1.45.2 requests==2.34.2 deprecation==2.1.0 fsspec==2026.9.0 \
    typing-inspect==0.9.0 ujson==6.1.0 uuid6==2025.0.1 PyYAML==6.0.4
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-compile --no-deps evidently==0.7.23

expected='ranks of the rows 1 2 3 4 MAP@3 0.583 precision@3 0.667 NDCG@3 0.693
ranks of the rows 2 1 3 4 MAP@3 0.333 precision@3 0.667 NDCG@3 0.693
ranks of the rows 4 3 2 1 MAP@3 0.000 precision@3 0.667 NDCG@3 0.693'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pandas as pd
from evidently.legacy.metrics import MAPKMetric, NDCGKMetric, PrecisionTopKMetric
from evidently.legacy.pipeline.column_mapping import ColumnMapping
from evidently.legacy.report import Report

rows = pd.DataFrame({"user": 1, "item": list("abcd"), "rank": [1, 2, 3, 4], "label": [0, 1, 1, 0]})
columns = ColumnMapping(
    recommendations_type="rank", target="label", prediction="rank", user_id="user", item_id="item"
)
for order in ([0, 1, 2, 3], [1, 0, 2, 3], [3, 2, 1, 0]):
    report = Report([MAPKMetric(k=3), PrecisionTopKMetric(k=3), NDCGKMetric(k=3)])
    report.run(reference_data=None, current_data=rows.iloc[order].reset_index(drop=True), column_mapping=columns)
    values = [list(metric["result"]["current"])[2] for metric in report.as_dict()["metrics"]]
    print("ranks of the rows", *(rank + 1 for rank in order),
          "MAP@3 {:.3f} precision@3 {:.3f} NDCG@3 {:.3f}".format(*values))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
