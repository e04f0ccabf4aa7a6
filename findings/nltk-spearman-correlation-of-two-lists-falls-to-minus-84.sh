#!/usr/bin/env bash
# Guess: spearman_correlation of NLTK compares two rankings over the documents that both have, and lies in -1 to 1.
# Behaviour: in NLTK 3.10.4 the documents that both have are counted alone, and their ranks are those in the whole
# lists: two top 8s with two documents in common correlate with -84, and two with three in common, in the same order,
# with -17.75. Ranked among themselves, these are -1 and 1. Only for lists of the same documents is it the coefficient.
# Why it matters: the tops of two runs are never the same documents; the sign may be wrong, and a mean over topics is
# made by the worst of them.
# Source: NLTK, nltk/metrics/spearman.py (n is the number of common keys, the ranks are not made again).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    nltk==3.10.4 numpy==1.26.4 scipy==1.17.1

expected='abcdefgh and hxyzwva: -84.00, of the 2 in both -1.00
abcdefgh and xyzvwabc: -17.75, of the 3 in both 1.00
abcd and abdc: 0.80, of the 4 in both 0.80'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from nltk.metrics.spearman import ranks_from_sequence, spearman_correlation
from scipy.stats import spearmanr

for first, second in (("abcdefgh", "hxyzwva"), ("abcdefgh", "xyzvwabc"), ("abcd", "abdc")):
    common = [document for document in first if document in second]
    ranks = [[ranking.index(document) for document in common] for ranking in (first, second)]
    value = spearman_correlation(ranks_from_sequence(first), ranks_from_sequence(second))
    print(f"{first} and {second}: {value:.2f}, of the {len(common)} in both {spearmanr(*ranks).statistic:.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
