#!/usr/bin/env bash
# Guess: ratio of Levenshtein orders words as its distance does, relative to their lengths, so that a word with one
# wrong letter is nearer than one with two letters more.
# Behaviour: ratio of Levenshtein 0.27.5 counts insertions and deletions alone, a wrong letter as two of them, over the
# sum of both lengths. "vitaminen" is nearer to "vitamin" than "vitomin" is, and 198419 nearer to 1984 than 1985, where
# distance of the same package says the opposite. One wrong letter of five is 0.80, one that is missing 0.89.
# Why it matters: typing errors are wrong letters. Spelling correction and matching with ratio and a cutoff prefer
# longer words and other words to the misspelt one, and a cutoff from a paper that divides the distance is another one.
# Source: Levenshtein, docstring of ratio (normalized indel similarity).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    Levenshtein==0.27.5 RapidFuzz==3.14.6

expected='Levenshtein 0.27.5
vitamin: distance and ratio vitomin 1 0.86, vitaminen 2 0.88, vitaminkur 3 0.82
    nearest by distance: vitomin vitaminen vitaminkur
    nearest by ratio: vitaminen vitomin vitaminkur
paris: distance and ratio pariz 1 0.80, parisian 3 0.77, pars 1 0.89
    nearest by distance: pariz pars parisian
    nearest by ratio: pars pariz parisian
1984: distance and ratio 1985 1 0.75, 198419 2 0.80, 19849 1 0.89
    nearest by distance: 1985 19849 198419
    nearest by ratio: 19849 198419 1985'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

from Levenshtein import distance, ratio

print(f"Levenshtein {version('Levenshtein')}")
cases = {
    "vitamin": ["vitomin", "vitaminen", "vitaminkur"],
    "paris": ["pariz", "parisian", "pars"],
    "1984": ["1985", "198419", "19849"],
}
for word, others in cases.items():
    values = [f"{other} {distance(word, other)} {ratio(word, other):.2f}" for other in others]
    print(f"{word}: distance and ratio {', '.join(values)}")
    print("    nearest by distance: " + " ".join(sorted(others, key=lambda other: distance(word, other))))
    print("    nearest by ratio: " + " ".join(sorted(others, key=lambda other: -ratio(word, other))))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
