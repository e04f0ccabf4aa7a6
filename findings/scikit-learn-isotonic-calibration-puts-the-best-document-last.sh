#!/usr/bin/env bash
# Guess: IsotonicRegression, fitted on scores and clicks or labels, gives a score above all that it saw the highest
# probability.
# Behaviour: in scikit-learn 1.9.1 such a score gets NaN (out_of_bounds="nan" is the default), and so does one below
# all that were seen. numpy sorts NaN last: the best document of a query goes to the end of its list, or below the
# worst. Scores within the range keep their order, up to ties. CalibratedClassifierCV asks for "clip".
# Why it matters: the fault is rare and hits the top: only queries with a score beyond those of the training set move,
# and their NDCG is that of a list without its best document.
# Source: sklearn/isotonic.py (IsotonicRegression: out_of_bounds="nan"); calibration.py asks for "clip".

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-learn==1.9.1 numpy==1.26.4 scipy==1.12.0

expected='nan: [nan, 0.7, 0.1, nan], order [1, 2, 0, 3], NDCG 0.689
clip: [1.0, 0.7, 0.1, 0.0], order [0, 1, 2, 3], NDCG 1.000'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import ndcg_score

scores, clicks = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0, 0, 1, 0, 1, 1]
query, labels = np.array([6.5, 4.4, 2.2, 0.5]), np.array([3, 1, 0, 0])
for rule in ("nan", "clip"):
    model = IsotonicRegression() if rule == "nan" else IsotonicRegression(out_of_bounds=rule)
    probabilities = model.fit(scores, clicks).predict(query)
    order = np.argsort(-probabilities, kind="stable")
    value = ndcg_score([labels[order]], [np.arange(4, 0, -1)])
    print(f"{rule}: {probabilities.round(2).tolist()}, order {order.tolist()}, NDCG {value:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
