#!/usr/bin/env bash
# Guess: QuantileTransformer gives equal values the middle of their quantiles: a feature that is 0 in 600 of 1,000 rows
# has 0 mapped to the quantile 0.3, which is -0.52 of the normal distribution, next to the first values above 0.
# Behaviour: in scikit-learn 1.9.1 that holds for values in the middle. The least value is mapped to the quantile 0,
# however frequent it is, and the greatest to 1: with output_distribution="normal" 0 becomes -5.2 and 1 becomes 0.25;
# the other 399 values lie within 5 deviations, and where 600 rows have the highest value it becomes 5.2.
# Why it matters: counts of clicks, links and matches in a title are mostly 0, and are transformed so for linear and
# neural rankers: each such feature is an indicator of zero first of all, with the weight of an outlier, and the more
# rows are 0 the wider the gap is beside what the counts say.
# Source: scikit-learn, preprocessing/_data.py (QuantileTransformer._transform_col: lower_bounds_idx, upper_bounds_idx).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1

expected='zero is the least of 600 equal: 0 -> -5.20, 1 -> 0.25, 200 -> 0.84, 399 -> 3.09
zero is in the middle: -1 -> -0.84, 0 -> 0.00, 1 -> 0.84
400 is the greatest of 600 equal: 0 -> -5.20, 399 -> -0.25, 400 -> 5.20'

observed=$("$folder/venv/bin/python" - <<'EOF'
import numpy as np
from sklearn.preprocessing import QuantileTransformer


def show(name, values, asked):
    transformer = QuantileTransformer(output_distribution="normal").fit(np.reshape(values, (-1, 1)).astype(float))
    mapped = transformer.transform(np.reshape(asked, (-1, 1)).astype(float))[:, 0]
    print(f"{name}:", ", ".join(f"{value} -> {quantile:.2f}" for value, quantile in zip(asked, mapped)))


zeros = np.zeros(600)
show("zero is the least of 600 equal", [*zeros, *range(1, 401)], [0, 1, 200, 399])
show("zero is in the middle", [*range(-200, 0), *zeros, *range(1, 201)], [-1, 0, 1])
show("400 is the greatest of 600 equal", [*range(400), *zeros + 400], [0, 399, 400])
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
