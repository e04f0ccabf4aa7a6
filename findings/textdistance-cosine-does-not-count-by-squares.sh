#!/usr/bin/env bash
# Guess: the cosine of two texts is that of their vectors of counts: with words for units, "oak oak oak pine" is nearer
# to "oak" than "oak pine" is.
# Behaviour: in textdistance 4.6.3, cosine is the coefficient of Otsuka and Ochiai: the number of common units,
# repeated ones as often as both texts have them, by the square root of the product of the lengths. It orders these two
# the other way round. The units are letters, unless qval=None makes them words.
# Why it matters: as a feature, or for near duplicates, it punishes repeated words that the cosine of vectors rewards,
# and thresholds for one do not fit the other.
# Source: textdistance, algorithms/token_based.py (Cosine).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    textdistance==4.6.3

expected='oak oak oak pine: textdistance 0.500, vectors 0.949
oak pine: textdistance 0.707, vectors 0.707'

observed=$("$folder/venv/bin/python" - <<'EOF'
from collections import Counter
from math import sqrt

from textdistance import Cosine


def cosine(first, second):
    counts, others = Counter(first.split()), Counter(second.split())
    norms = sqrt(sum(count**2 for count in counts.values()) * sum(count**2 for count in others.values()))
    return sum(counts[word] * others[word] for word in counts) / norms


for text in ("oak oak oak pine", "oak pine"):
    print(f"{text}: textdistance {Cosine(qval=None)('oak', text):.3f}, vectors {cosine('oak', text):.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
