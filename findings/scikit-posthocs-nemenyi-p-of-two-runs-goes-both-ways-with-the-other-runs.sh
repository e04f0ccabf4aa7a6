#!/usr/bin/env bash
# Guess: the p of two runs in the Nemenyi test, which critical difference diagrams are drawn from, is that of their own
# values, corrected for the number of runs: it grows a little with each run that is compared, and never falls.
# Behaviour: with scikit-posthocs 0.17.1 the ranks of two runs are those among all runs. Over 30 topics the baseline and
# the better run have p .002 beside one other run, .71 when four much worse runs are added, and 4e-11 when variants by a
# thousandth are added; with these the baseline and a run that is equal to it but for noise fall from .86 to .02.
# Why it matters: whether a run is significantly better is decided by which other runs are in the table: weak baselines
# hide it, and a sweep of near variants makes a difference of nothing. A paired test of the two runs does not change.
# Source: scikit-posthocs, _posthocs.py (posthoc_nemenyi_friedman: ranks of each row); Benavoli, Corani and Mangili,
# Should We Really Use Post-Hoc Tests Based on Mean-Ranks?, JMLR 17, 2016.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-posthocs==0.17.1 numpy==2.1.3 scipy==1.15.3 pandas==2.2.3 statsmodels==0.15.0 matplotlib==3.10.9 \
    seaborn==0.13.2

expected='no others: baseline and better p 0.0023, baseline and equal p 0.86
four worse runs: baseline and better p 0.71, baseline and equal p 1
four variants: baseline and better p 3.7e-11, baseline and equal p 0.021
Wilcoxon: baseline and better p 5e-05, baseline and equal p 0.4'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from scikit_posthocs import posthoc_nemenyi_friedman
from scipy import stats

random = np.random.default_rng(0)
baseline = random.random(30)
better = baseline + random.normal(0.03, 0.05, 30)
equal = baseline + random.normal(0.0, 0.05, 30)
others = {
    "no others": [],
    "four worse runs": [baseline - worse for worse in (0.2, 0.3, 0.4, 0.25)],
    "four variants": [baseline + 0.001, baseline + 0.002, baseline + 0.003, better - 0.001],
}
for name, runs in others.items():
    p = posthoc_nemenyi_friedman(np.column_stack([baseline, better, equal, *runs])).to_numpy()[0]
    print(f"{name}: baseline and better p {p[1]:.2g}, baseline and equal p {p[2]:.2g}")
better_p, equal_p = (stats.wilcoxon(run, baseline).pvalue for run in (better, equal))
print(f"Wilcoxon: baseline and better p {better_p:.2g}, baseline and equal p {equal_p:.2g}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
