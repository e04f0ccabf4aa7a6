#!/usr/bin/env bash
# Guess: get_correlation of trectools, given the values and names of systems by two measures, with "pearson" correlates
# the values; Kendall's tau takes systems of equal values for tied.
# Behaviour: in trectools 0.0.50 the values are not used: the place of each system in the two lists is correlated. Of
# six systems, of which the best falls far behind by the other measure and five stay near each other, Pearson's
# correlation of the values is -.97 and that of get_correlation .14, which is Spearman's. Ties are broken by the names:
# two measures of which one calls all systems equal have a tau of 1 where the names are in the order of the other
# measure.
# Why it matters: Pearson's correlation is asked for because it sees by how much systems differ; a table with the three
# coefficients has one of them twice. A measure that tells nothing apart can agree fully with any other.
# Source: trectools, misc.py (get_correlation: a list of integers from the names; sort_systems_by sorts ties by name).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    trectools==0.0.50 numpy==1.26.4 scipy==1.17.1 pandas==3.0.6 scikit-learn==1.9.1

expected='one falls behind:
    kendall: trectools 0.33, of the values 0.33
    pearson: trectools 0.14, of the values -0.97
    spearman: trectools 0.14, of the values 0.14
all equal by the second:
    kendall: trectools 1.00, of the values nan
    pearson: trectools 1.00, of the values nan
    spearman: trectools 1.00, of the values nan'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import numpy as np
from scipy import stats
from trectools.misc import get_correlation


def sort(values):
    pairs = [(value, f"system-{number}") for number, value in enumerate(values)]
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1]))


def show(name, first, second):
    print(f"{name}:")
    reference = {"kendall": stats.kendalltau, "pearson": stats.pearsonr, "spearman": stats.spearmanr}
    for kind, function in reference.items():
        found = get_correlation(sort(first), sort(second), correlation=kind)[0]
        print(f"    {kind}: trectools {found:.2f}, of the values {function(first, second)[0]:.2f}")


show("one falls behind", [0.60, 0.34, 0.33, 0.32, 0.31, 0.30], [0.10, 0.44, 0.43, 0.42, 0.41, 0.40])
show("all equal by the second", [0.6, 0.5, 0.4, 0.3, 0.2, 0.1], [0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
