#!/usr/bin/env bash
# Guess: nltk.metrics.approxrand is the approximate randomisation test that evaluations of retrieval and translation
# use: the two values of a topic are exchanged at random.
# Behaviour: NLTK 3.9.1 puts the values of both runs into one list and deals them out anew, so that the topics are lost.
# Of a run that is better by .026 in the mean, and on 39 of 50 topics, the p-value is about .6, as that of the t-test of
# two independent samples, where the exchange within the topics has .001, its least possible value, and the paired
# t-test 1e-7.
# Why it matters: the values of topics differ by far more than runs do. With this test next to no pair of runs is
# different, and a table without stars is read as one without differences.
# Source: NLTK, metrics/scores.py (approxrand: shuffles LazyConcatenation([a, b])).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check nltk==3.9.1 numpy==1.26.4 scipy==1.15.3

expected='mean difference 0.026, better on 39 of 50 topics
approxrand 0.6, exchanged within topics 0.001
t-test of independent samples 0.6, paired 1e-07'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import random

import numpy as np
from nltk.metrics import approxrand
from scipy import stats

generator = np.random.default_rng(0)
first = generator.beta(1, 2, 50)
second = np.clip(first + generator.normal(0.03, 0.03, 50), 0, 1)
random.seed(0)
p, _, _ = approxrand(first.tolist(), second.tolist(), shuffles=999)
flips = generator.choice((-1, 1), (999, 50)) @ (second - first)
exchanged = (1 + np.sum(np.abs(flips) >= np.abs(np.sum(second - first)))) / 1000
print(f"mean difference {np.mean(second - first):.3f}, better on {np.sum(second > first)} of 50 topics")
print(f"approxrand {p:.1f}, exchanged within topics {exchanged:.3f}")
print(f"t-test of independent samples {stats.ttest_ind(first, second).pvalue:.1f}, "
      f"paired {stats.ttest_rel(first, second).pvalue:.0e}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
