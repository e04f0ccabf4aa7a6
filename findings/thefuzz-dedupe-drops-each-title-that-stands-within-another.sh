#!/usr/bin/env bash
# Guess: process.dedupe of thefuzz leaves one of the titles that are alike by its threshold of 70: those with typing
# errors and other orders of words. Of titles as different as "Statistics" and "Statistics for cancer research" both
# stay.
# Behaviour: in thefuzz 0.22.1 its measure is the ratio of sets of words, which is 100 where all words of one title
# are in the other, at any length: the longest stays and all within it are dropped, at a threshold of 99 too. A list
# of six books, two of them the same with a typing error, becomes two instead of five.
# Why it matters: titles of one or two words are headings, diseases and films; they are lost as duplicates of longer
# ones, and a stricter threshold, the natural remedy, does not bring them back.
# Source: thefuzz, process.py (dedupe: scorer=fuzz.token_set_ratio, of the matches the longest).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    thefuzz==0.22.1 rapidfuzz==3.14.6

expected='threshold 70: Introduction to physics / Statistics for cancer research
threshold 90: Introduction to physics / Statistics for cancer research
threshold 99: Introduction to physics / Statistics for cancer research / Statistics for cancer reserch
threshold 90 of token_sort_ratio:
    Cancer / Cancer research / Introduction to physics / Statistics / Statistics for cancer research'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from thefuzz import fuzz, process

books = [
    "Statistics",
    "Cancer",
    "Cancer research",
    "Statistics for cancer research",
    "Statistics for cancer reserch",
    "Introduction to physics",
]
for threshold in (70, 90, 99):
    print(f"threshold {threshold}: {' / '.join(sorted(process.dedupe(books, threshold=threshold)))}")
kept = sorted(process.dedupe(books, threshold=90, scorer=fuzz.token_sort_ratio))
print(f"threshold 90 of token_sort_ratio:\n    {' / '.join(kept)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
