#!/usr/bin/env bash
# Guess: cohen_kappa_score with linear or quadratic weights has the differences of the grades as weights.
# Behaviour: scikit-learn 1.9.1 weighs the differences of positions among the grades that were given. Grades 0, 1 and
# 4 agree as 0, 1 and 2 do: a 0 against a 4 is twice, not four times (quadratic: four, not sixteen times) a 0 against
# a 1. With labels=[0, 1, 2, 3, 4], or one more document of grade 2, it is another value.
# Why it matters: agreement of assessors, or of a language model with them, depends on grades that happen to be in a
# sample: samples cannot be compared, and a figure is only that of others if all grades of the scale are passed.
# Source: sklearn/metrics/_classification.py (cohen_kappa_score: w_mat of the positions in the confusion matrix).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-learn==1.9.1 numpy==1.26.4 scipy==1.12.0

expected='linear, grades 0, 1, 4: 0.520
linear, renamed 0, 1, 2: 0.520
linear, labels 0 to 4: 0.556
quadratic, grades 0, 1, 4: 0.647
quadratic, renamed 0, 1, 2: 0.647
quadratic, labels 0 to 4: 0.667'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from sklearn.metrics import cohen_kappa_score

first = [0, 0, 1, 1, 4, 4, 0, 1]
second = [0, 1, 1, 0, 4, 1, 0, 1]
ranks = {0: 0, 1: 1, 4: 2}
for weights in ("linear", "quadratic"):
    print(f"{weights}, grades 0, 1, 4: {cohen_kappa_score(first, second, weights=weights):.3f}")
    renamed = [ranks[grade] for grade in first], [ranks[grade] for grade in second]
    print(f"{weights}, renamed 0, 1, 2: {cohen_kappa_score(*renamed, weights=weights):.3f}")
    scale = cohen_kappa_score(first, second, weights=weights, labels=[0, 1, 2, 3, 4])
    print(f"{weights}, labels 0 to 4: {scale:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
