#!/usr/bin/env bash
# Guess: weightedtau of two rankings may be given ranks in place of scores, as kendalltau may.
# Behaviour: in SciPy 1.17.1 the greatest value is the most important: of ranks from 1 it is the last place. A swap
# of the first two costs as much as one of the last two with scores, and the other way round.
# Why it matters: rankings of systems are stored as ranks as often as scores; tau agrees for both forms, the
# weighted one changes silently to the opposite weights.
# Source: scipy.stats.weightedtau (importance of the largest elements; rank=True).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scipy==1.17.1 numpy==2.4.6

expected='first two swapped, scores: tau 0.8, weighted 0.672
first two swapped, ranks: tau 0.8, weighted 0.901
last two swapped, scores: tau 0.8, weighted 0.901
last two swapped, ranks: tau 0.8, weighted 0.672'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from scipy.stats import kendalltau, weightedtau

scores = [0.9, 0.8, 0.7, 0.6, 0.5]
swapped = {"first two": [0.8, 0.9, 0.7, 0.6, 0.5], "last two": [0.9, 0.8, 0.7, 0.5, 0.6]}


def ranks(values):
    return [1 + sum(other > value for other in values) for value in values]


for name, others in swapped.items():
    for form in (list, ranks):
        pair = form(scores), form(others)
        tau, weighted = (round(float(function(*pair).statistic), 3) for function in (kendalltau, weightedtau))
        print(f"{name} swapped, {'scores' if form is list else 'ranks'}: tau {tau}, weighted {weighted}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
