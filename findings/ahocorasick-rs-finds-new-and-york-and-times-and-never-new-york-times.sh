#!/usr/bin/env bash
# Guess: AhoCorasick of ahocorasick_rs finds "new york times" in a text that has it, where "new", "york" and "times" are
# in the vocabulary too, or finds all four of them.
# Behaviour: ahocorasick_rs 1.0.3 by default returns matches that do not overlap, and of these the one that ends first:
# new, york and times, in whatever order the vocabulary is. A name that has another one as its beginning is never found,
# nor one that has another in its midst. matchkind=LeftmostLongest finds new york times, and overlapping=True all.
# Why it matters: vocabularies of entities have parts of names as names of their own, and the more they have the fewer
# long ones are found. Texts and queries are tagged alike, so that all seems to fit, and new york times is a place.
# Source: README of ahocorasick_rs, matching (Standard, the default: the pattern that is detected first).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ahocorasick_rs==1.0.3 typing_extensions==4.16.0

expected="ahocorasick_rs 1.0.3
long names: ['new york times', 'type 2 diabetes mellitus']
long names, then short: ['new', 'york', 'times', 'diabetes']
short names, then long: ['new', 'york', 'times', 'diabetes']
LeftmostLongest: ['new york times', 'type 2 diabetes mellitus']
overlapping: ['new', 'york', 'new york times', 'times', 'diabetes', 'type 2 diabetes mellitus']"

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

from ahocorasick_rs import AhoCorasick, MatchKind

print(f"ahocorasick_rs {version('ahocorasick_rs')}")
text = "the new york times on type 2 diabetes mellitus"
long = ["new york times", "type 2 diabetes mellitus"]
for name, vocabulary in {
    "long names": long,
    "long names, then short": [*long, "new", "york", "times", "diabetes"],
    "short names, then long": ["new", "york", "times", "diabetes", *long],
}.items():
    print(f"{name}: {AhoCorasick(vocabulary).find_matches_as_strings(text)}")
longest = AhoCorasick(vocabulary, matchkind=MatchKind.LeftmostLongest)
print(f"LeftmostLongest: {longest.find_matches_as_strings(text)}")
print(f"overlapping: {AhoCorasick(vocabulary).find_matches_as_strings(text, overlapping=True)}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
