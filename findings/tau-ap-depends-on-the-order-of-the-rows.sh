#!/usr/bin/env bash
# Guess: tau_ap(x, y) is a function of pairs of scores, like scipy.stats.kendalltau: which system stands in which row
# does not matter.
# Behaviour: tau_ap 0.1.0 takes the first row for the top of the ranking and does not sort. The same two scores of the
# same four systems, which differ in the order of the best two, have 0.33 with the rows from best to worst and 0.78
# with the rows in another order, as if the bottom had been exchanged.
# Why it matters: tables of systems are in alphabetical order. The weight of the top, for which this coefficient is
# chosen, falls on the first letters of the alphabet, and no error says so.
# Source: tau_ap/tau_ap.py (the loops over i and j go by the place in x).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    tau_ap==0.1.0 numpy==2.4.6 pandas==2.3.3 scipy==1.17.1

expected='ABCD tau_ap 0.333 kendalltau 0.667
CADB tau_ap 0.778 kendalltau 0.667
DCBA tau_ap 0.778 kendalltau 0.667'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from scipy.stats import kendalltau
from tau_ap import tau_ap

first = {"A": 0.5, "B": 0.4, "C": 0.3, "D": 0.2}
second = {"A": 0.4, "B": 0.5, "C": 0.3, "D": 0.2}
for rows in ("ABCD", "CADB", "DCBA"):
    x = [first[system] for system in rows]
    y = [second[system] for system in rows]
    print(rows, f"tau_ap {tau_ap(x, y):.3f} kendalltau {kendalltau(x, y).statistic:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
