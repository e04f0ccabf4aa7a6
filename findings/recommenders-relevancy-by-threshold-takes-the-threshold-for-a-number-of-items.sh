#!/usr/bin/env bash
# Guess: relevancy_method="by_threshold" with threshold=4, in precision_at_k and the other ranking measures of
# recommenders, takes the items that are predicted to be rated 4 or more.
# Behaviour: in recommenders 1.2.1 the threshold is the length of the list: the best 4 items of each user count,
# whatever their predictions are. k no longer cuts the list, and precision is still divided by it. Of two predictions
# above 4, one of which is right of four, recall is 0.75; with all predictions 3 lower it is, too.
# Why it matters: the figure that is to say what a cutoff of scores finds, and what a list of confident answers is
# worth, is recall at another k, and precision at a k that is not that of the list.
# Source: recommenders, evaluation/python_evaluation.py (merge_ranking_true_pred: top_k = threshold).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==1.26.4 pandas==2.2.3 scipy==1.15.3 scikit-learn==1.5.2
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps recommenders==1.2.1

expected='threshold 2: 4 predictions reach it, recall 0.25, precision 0.10
threshold 4: 2 predictions reach it, recall 0.75, precision 0.30
threshold 2: 0 predictions reach it, recall 0.25, precision 0.10
threshold 4: 0 predictions reach it, recall 0.75, precision 0.30'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pandas as pd
from recommenders.evaluation.python_evaluation import precision_at_k, recall_at_k

relevant = pd.DataFrame({"userID": 1, "itemID": ["a", "b", "c", "d"], "rating": 5})
predicted = pd.DataFrame({"userID": 1, "itemID": list("axbcyd"), "prediction": [4.9, 4.8, 3.0, 2.0, 1.5, 1.0]})
for move in (0, -3):
    rows = predicted.assign(prediction=predicted["prediction"] + move)
    for threshold in (2, 4):
        options = {"relevancy_method": "by_threshold", "threshold": threshold}
        recall = recall_at_k(relevant, rows, **options)
        precision = precision_at_k(relevant, rows, k=10, **options)
        reached = (rows["prediction"] >= threshold).sum()
        print(f"threshold {threshold}: {reached} predictions reach it, recall {recall:.2f}, precision {precision:.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
