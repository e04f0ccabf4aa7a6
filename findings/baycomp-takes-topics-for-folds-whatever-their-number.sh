#!/usr/bin/env bash
# Guess: two_on_single of baycomp gives, for the scores of two runs by topic on one collection, the probability that
# one is better: with no rope it is near one minus the one-sided p value of the paired t test.
# Behaviour: in baycomp 1.0.3, two_on_single takes the scores for folds of a cross-validation that share their training
# data, and widens the variance for it: about twofold, whatever the number of topics. Here, 0.965 of the t test is
# 0.90. two_on_multiple, for scores that do not depend on each other, has 0.96.
# Why it matters: topics share no training data, and half of them count for nothing: differences are called open that
# are not.
# Source: baycomp, single.py (CorrelatedTTest: rho = 1 / n); Benavoli and others, JMLR 2017.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    baycomp==1.0.3 numpy==1.26.4 scipy==1.17.1

expected='t test: 0.96
two_on_single: 0.90, two_on_multiple: 0.96
t test of twice the variance: 0.90'

observed=$("$folder/venv/bin/python" - <<'EOF'
import baycomp
import numpy as np
from scipy.stats import t, ttest_rel

random = np.random.default_rng(0)
first = random.uniform(size=50)
second = first - 0.03 + random.normal(size=50) * 0.1
difference = first - second
single, _ = baycomp.two_on_single(first, second)
multiple = baycomp.two_on_multiple(first, second, random_state=0)[0]
print(f"t test: {1 - ttest_rel(first, second).pvalue / 2:.2f}")
print(f"two_on_single: {single:.2f}, two_on_multiple: {multiple:.2f}")
wide = t.cdf(difference.mean() / np.sqrt(difference.var(ddof=1) * (1 / 50 + 1 / 49)), 49)
print(f"t test of twice the variance: {wide:.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
