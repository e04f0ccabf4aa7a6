#!/usr/bin/env bash
# Guess: the paired randomisation test of two runs over the same topics is scipy.stats.permutation_test with
# permutation_type="pairings".
# Behaviour: in SciPy 1.17.1, "pairings" shuffles which value of one run goes with which of the other, for
# correlations: the difference of the means is the same each time and p is 1, whatever the runs. Fisher's test of IR,
# which swaps the two values of a topic, is "samples"; the default, "independent", mixes topics and misses differences
# that are the same on each.
# Why it matters: with either of the other two, a run that is better on every topic is reported as no different.
# Source: scipy, stats/_resampling.py (permutation_test: permutation_type, "Paired statistics, permute pairings" and
# "samples").

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scipy==1.17.1 numpy==2.4.6

expected='topics on which the first is better: 8 of 8
pairings: p 1.0000
independent: p 0.5897
samples: p 0.0078'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from scipy.stats import permutation_test

first = np.array([0.5, 0.6, 0.7, 0.4, 0.9, 0.3, 0.2, 0.8])
second = first - 0.05 - 0.005 * np.arange(8)


def difference(x, y, axis=-1):
    return np.mean(x, axis=axis) - np.mean(y, axis=axis)


print("topics on which the first is better:", int((first > second).sum()), "of", len(first))
for kind in ("pairings", "independent", "samples"):
    options = {"permutation_type": kind, "n_resamples": 20000, "vectorized": True}
    p = permutation_test((first, second), difference, random_state=0, **options).pvalue
    print(f"{kind}: p {p:.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
