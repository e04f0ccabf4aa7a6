#!/usr/bin/env bash
# Guess: in Wilcoxon's signed-rank test of P@10 of two systems, topics that differ by one relevant document are ties
# and share a rank.
# Behaviour: in SciPy 1.17.1 they are not: 0.3 - 0.2 is not 0.4 - 0.3 in floating point, and the differences of 50
# topics have 12 sizes where there are 6 multiples of a tenth. Of the same figures, p is .052 and, with differences
# rounded or counted in documents, .019.
# Why it matters: measures of few values (P@k, Success, RR) have many such ties, and which way their rounding errors
# point decides whether a system is called better.
# Source: scipy.stats.wilcoxon ranks abs(x - y) as it is; its documentation has an example with a rounded difference.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scipy==1.17.1 numpy==2.4.6

expected='sizes of differences: 12 of P@10, 6 of numbers of documents
p of P@10: 0.052
p of rounded differences: 0.019
p of numbers of documents: 0.019'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from scipy.stats import wilcoxon

random = np.random.default_rng(149)
one, other = random.binomial(10, 0.45, 50), random.binomial(10, 0.38, 50)  # relevant documents among the first 10
differences = one / 10 - other / 10
sizes = [len(set(np.abs(values).tolist())) for values in (differences, one - other)]
print(f"sizes of differences: {sizes[0]} of P@10, {sizes[1]} of numbers of documents")
print(f"p of P@10: {wilcoxon(one / 10, other / 10).pvalue:.3f}")
print(f"p of rounded differences: {wilcoxon(differences.round(9)).pvalue:.3f}")
print(f"p of numbers of documents: {wilcoxon(one, other).pvalue:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
