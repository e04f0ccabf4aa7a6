#!/usr/bin/env bash
# Guess: a rank correlation of two lists of scores is the same however the items are listed, as scipy.stats.kendalltau
# is.
# Behaviour: tau_ap 0.1.0 takes the items as listed from the top of the second ranking down (Yilmaz, Aslam and
# Robertson, SIGIR 2008, whose sum runs over ranks) and does not sort them: with a swap of the first two of four it
# says .333 for items from the top, .778 from the bottom. Kendall is .667 for all.
# Why it matters: systems listed by name, as in a table of scores, get a value that changes with their names; a swap
# at the top, which the measure is to punish, can count least.
# Source: tau_ap, tau_ap/__init__.py: the loop over positions of the lists.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tau-ap==0.1.0 numpy==2.4.6 scipy==1.17.1

expected='from the top 0.333 0.667
from the bottom 0.778 0.667
by name 0.778 0.667'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from scipy.stats import kendalltau
from tau_ap import tau_ap

true, swapped = [4, 3, 2, 1], [3, 4, 2, 1]  # scores of four systems
for name, order in (("from the top", [0, 1, 2, 3]), ("from the bottom", [3, 2, 1, 0]), ("by name", [2, 0, 3, 1])):
    one, other = ([scores[item] for item in order] for scores in (true, swapped))
    print(name, round(tau_ap(one, other), 3), round(kendalltau(one, other).statistic, 3))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
