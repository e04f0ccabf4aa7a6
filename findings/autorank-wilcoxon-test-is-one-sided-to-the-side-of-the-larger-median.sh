#!/usr/bin/env bash
# Guess: autorank compares the scores of two runs by topic that are not normal with the Wilcoxon signed rank test: p is
# that of scipy.stats.wilcoxon, with both sides.
# Behaviour: in autorank 1.3.0 it is the test of one side, and the side is chosen from the same data: that the run with
# the larger median is greater. p is half of that of both sides where the medians say so: of 400 pairs of samples of one
# distribution, twice as many pass 0.05. Where a run wins on 40 of 41 topics and has the lower median, p is 1.000, of
# both sides 0.000. The t test, which autorank takes for normal scores, has both sides.
# Why it matters: scores of topics (AP, RR, nDCG) are hardly ever normal. Twice the differences that there are not get
# published, and a clear gain is none where the middle topic is the one that lost.
# Source: autorank, _util.py (rank_two: larger = argmax of the medians, alternative="greater"); its documentation and
# the report say Wilcoxon's signed rank test.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    autorank==1.3.0 numpy==2.4.6 scipy==1.17.1 pandas==3.1.1

expected='p below 0.05 for samples of one distribution: autorank 43, both sides 24
second wins on 40 of 41: medians 0.60 and 0.45
autorank 1.000, both sides 0.000'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import contextlib
import io

import numpy as np
import pandas as pd
from autorank import autorank
from scipy.stats import wilcoxon


def compare(first, second):
    with contextlib.redirect_stdout(io.StringIO()):
        return autorank(pd.DataFrame({"first": first, "second": second}), force_mode="nonparametric").pvalue


random = np.random.default_rng(0)
samples = random.exponential(size=(400, 2, 30))
one = sum(compare(*pair) < 0.05 for pair in samples)
both = sum(wilcoxon(*pair).pvalue < 0.05 for pair in samples)
print(f"p below 0.05 for samples of one distribution: autorank {one}, both sides {both}")

first = np.concatenate([np.linspace(0, 0.4, 20), np.linspace(0.6, 1, 21)])
second = first + np.linspace(0.04, 0.06, 41)
second[20] = first[20] - 0.2
print(f"second wins on {(second > first).sum()} of 41: medians {np.median(first):.2f} and {np.median(second):.2f}")
print(f"autorank {compare(first, second):.3f}, both sides {wilcoxon(first, second).pvalue:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
