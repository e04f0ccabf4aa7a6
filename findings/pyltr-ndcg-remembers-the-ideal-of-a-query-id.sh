#!/usr/bin/env bash
# Guess: a metric object holds its parameters; the value of a query depends on the labels and scores that are given.
# Behaviour: in pyltr 0.2.6, NDCG keeps the ideal DCG of each query id that it has seen. For other labels under the same
# id it divides by the old ideal: a perfect list of one document of label 3 has 7.0 after one of label 1, and a new
# object says 1.0.
# Why it matters: one object goes to the model, to its monitor and to the test, and the files of a LETOR fold may number
# their queries alike; values above 1, or too small ones, follow.
# Source: pyltr, metrics/dcg.py (NDCG._get_ideal).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==1.26.4 scipy==1.15.3 scikit-learn==1.5.2 pandas==2.2.3 six==1.17.0
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    pyltr==0.2.6

expected='label 1: 1.0
label 3, the same object: 7.0
label 3, a new object: 1.0'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from pyltr.metrics import NDCG

queries, scores = np.array([7, 7]), np.array([2.0, 1.0])
first, second = np.array([1, 0]), np.array([3, 0])
metric = NDCG(k=10)
print("label 1:", round(metric.calc_mean(queries, first, scores), 6))
print("label 3, the same object:", round(metric.calc_mean(queries, second, scores), 6))
print("label 3, a new object:", round(NDCG(k=10).calc_mean(queries, second, scores), 6))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
