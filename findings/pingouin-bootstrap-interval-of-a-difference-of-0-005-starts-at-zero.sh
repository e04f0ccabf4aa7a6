#!/usr/bin/env bash
# Guess: `pingouin.compute_bootci` returns the ends of the interval as they are computed, as scipy.stats.bootstrap does;
# who prints them rounds them.
# Behaviour: in pingouin 0.7.0 `decimals` is 2, and the array that is returned has two digits. The intervals of mean
# differences of nDCG of .0055 and .0038 over 50 topics, with p below .001, both are from 0 to .01 where SciPy has .0024
# to .0085 and .0023 to .0052: both contain zero.
# Why it matters: differences of runs are of this size. Whether zero is outside of the interval, which is read as
# significant, is decided by the rounding, and error bars of unlike runs are alike.
# Source: pingouin, effsize.py (compute_bootci: decimals=2).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pingouin==0.7.0 numpy==2.4.6 scipy==1.17.1 pandas==2.3.3 scikit-learn==1.9.1

expected='mean 0.0055, p 9e-04: pingouin 0.0 to 0.01, SciPy 0.0024 to 0.0085
mean 0.0038, p 7e-06: pingouin 0.0 to 0.01, SciPy 0.0023 to 0.0052'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import pingouin
from scipy import stats

for seed, deviation in ((0, 0.012), (1, 0.006)):
    differences = np.random.default_rng(seed).normal(0.004, deviation, 50)
    p = stats.ttest_1samp(differences, 0).pvalue
    interval = stats.bootstrap((differences,), np.mean, rng=0).confidence_interval
    low, high = pingouin.compute_bootci(differences, func="mean", seed=0)
    print(f"mean {differences.mean():.4f}, p {p:.0e}: pingouin {low} to {high}, "
          f"SciPy {interval.low:.4f} to {interval.high:.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
