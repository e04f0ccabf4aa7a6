#!/usr/bin/env bash
# Guess: the p of a test of two runs that are equal, NaN in SciPy, is left out of the correction for several tests by
# statsmodels' multipletests, or stays NaN and leaves the others alone.
# Behaviour: in statsmodels 0.15.0 that is so for holm (which counts it as a test). For
# fdr_bh, fdr_by and simes-hochberg one NaN makes all corrected p NaN, while `reject` still says which differ; for
# hommel and fdr_gbs nothing is rejected either, with p of 4e-08 and 4e-05 among them.
# Why it matters: a variant that changes no ranking is a row of most tables of runs. `corrected < 0.05` then says that
# no run differs from the baseline, and no warning says why; by `reject` it depends on the method.
# Source: statsmodels, stats/multitest.py (sorts, then takes running minima of all p; nothing looks for NaN).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    statsmodels==0.15.0 numpy==2.1.3 scipy==1.15.3 pandas==2.2.3

expected='holm: without the equal run 2 rejected, 2 corrected p below .05; with it 2 rejected, 2 below, 1 NaN
simes-hochberg: without the equal run 2 rejected, 2 corrected p below .05; with it 2 rejected, 0 below, 4 NaN
hommel: without the equal run 2 rejected, 2 corrected p below .05; with it 0 rejected, 0 below, 4 NaN
fdr_bh: without the equal run 2 rejected, 2 corrected p below .05; with it 2 rejected, 0 below, 4 NaN
fdr_by: without the equal run 2 rejected, 2 corrected p below .05; with it 2 rejected, 0 below, 4 NaN
fdr_gbs: without the equal run 2 rejected, 2 corrected p below .05; with it 0 rejected, 0 below, 4 NaN'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

random = np.random.default_rng(0)
baseline = random.random(30)
runs = [
    baseline + random.normal(0.05, 0.05, 30),
    baseline + random.normal(0.04, 0.05, 30),
    baseline + random.normal(0.0, 0.05, 30),
]
p = np.array([stats.ttest_rel(run, baseline).pvalue for run in runs])
p_of_equal_run = stats.ttest_rel(baseline, baseline).pvalue
assert np.isnan(p_of_equal_run)
for method in ("holm", "simes-hochberg", "hommel", "fdr_bh", "fdr_by", "fdr_gbs"):
    rejected, corrected = multipletests(p, method=method)[:2]
    with_equal = multipletests([*p, p_of_equal_run], method=method)
    print(f"{method}: without the equal run {rejected.sum()} rejected, {(corrected < 0.05).sum()} corrected p below "
          f".05; with it {with_equal[0].sum()} rejected, {(with_equal[1] < 0.05).sum()} below, "
          f"{np.isnan(with_equal[1]).sum()} NaN")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
