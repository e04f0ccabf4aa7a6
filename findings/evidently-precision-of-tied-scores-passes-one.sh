#!/usr/bin/env bash
# Guess: items with equal scores stand in the order of the rows, or share a rank and are counted once; precision and
# NDCG end at 1.
# Behaviour: evidently 0.7.23 gives tied items the mean of their ranks, cut to an integer. Two items at the top are
# both at rank 1, and precision at 1 is 2; three are all at rank 2, so that precision at 1 is 0 though each of them is
# relevant, and at 2 it is 1.5. NDCG at 1 is 2 where precision is, and MAP reaches 1.33.
# Why it matters: scores with few values (ratings, leaves of a small forest, rounded scores) are always tied; the
# values are averaged over users and shown without a warning.
# Source: evidently/legacy/calculations/recommender_systems.py (transform("rank").astype(int)).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    --no-compile numpy==1.26.4 pandas==2.3.3 scikit-learn==1.8.0 plotly==5.24.1 pydantic==2.14.4 \
    litestar==2.25.0 nltk==3.10.4 opentelemetry-proto==1.45.2 requests==2.34.2 deprecation==2.1.0 fsspec==2026.9.0 \
    typing-inspect==0.9.0 ujson==6.1.0 uuid6==2025.0.1 PyYAML==6.0.4
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-compile --no-deps evidently==0.7.23

expected='scores 4.0 3.0 2.0 1.0
    PrecisionTopKMetric at 1, 2, 3: 1.000 1.000 1.000
    MAPKMetric at 1, 2, 3: 0.333 0.667 1.000
    NDCGKMetric at 1, 2, 3: 1.000 1.000 1.000
scores 3.0 3.0 2.0 1.0
    PrecisionTopKMetric at 1, 2, 3: 2.000 1.000 1.000
    MAPKMetric at 1, 2, 3: 0.667 1.000 1.333
    NDCGKMetric at 1, 2, 3: 2.000 1.226 1.173
scores 2.0 2.0 2.0 1.0
    PrecisionTopKMetric at 1, 2, 3: 0.000 1.500 1.000
    MAPKMetric at 1, 2, 3: 0.000 0.500 0.833
    NDCGKMetric at 1, 2, 3: 0.000 1.161 0.888'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pandas as pd
from evidently.legacy.metrics import MAPKMetric, NDCGKMetric, PrecisionTopKMetric
from evidently.legacy.pipeline.column_mapping import ColumnMapping
from evidently.legacy.report import Report

columns = ColumnMapping(
    recommendations_type="score", target="label", prediction="score", user_id="user", item_id="item"
)
for scores in ([4.0, 3.0, 2.0, 1.0], [3.0, 3.0, 2.0, 1.0], [2.0, 2.0, 2.0, 1.0]):
    rows = pd.DataFrame({"user": 1, "item": list("abcd"), "score": scores, "label": [1, 1, 1, 0]})
    report = Report([PrecisionTopKMetric(k=3), MAPKMetric(k=3), NDCGKMetric(k=3)])
    report.run(reference_data=None, current_data=rows, column_mapping=columns)
    print("scores", *scores)
    for metric in report.as_dict()["metrics"]:
        print("   ", metric["metric"], "at 1, 2, 3:", *(f"{value:.3f}" for value in metric["result"]["current"][:3]))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
