#!/usr/bin/env bash
# Guess: Simhash(text) of the package simhash is made of the words of the text: texts of other words are at a
# distance.
# Behaviour: in simhash 2.1.2 a text is lowered, all between letters is dropped, and what is left is cut into all
# strings of 4 letters, over the ends of words. "now here" and "nowhere" are at distance 0, as "3.5 mg" and "35 mg". A
# list of words is hashed word by word, and is another fingerprint of the same text.
# Why it matters: fingerprints of texts and of token lists cannot be compared, the usual thresholds (3 of 64 bits, for
# words) do not hold, and numbers lose the point that tells them apart, so that unlike documents are removed as
# duplicates.
# Source: simhash, __init__.py (build_by_text, _tokenize, _slide with width 4).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    simhash==2.1.2 numpy==1.26.4

expected='the valve is now here / The valve is nowhere!: texts at 0, lists of words at 27
a dose of 3.5 mg / a dose of 35 mg: texts at 0, lists of words at 11
heat flow in a wing / flow of heat in wings: texts at 29, lists of words at 15
a text and its words are at distance 0: False'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from simhash import Simhash

pairs = [
    ("the valve is now here", "The valve is nowhere!"),
    ("a dose of 3.5 mg", "a dose of 35 mg"),
    ("heat flow in a wing", "flow of heat in wings"),
]
for first, second in pairs:
    texts = Simhash(first).distance(Simhash(second))
    words = Simhash(first.lower().split()).distance(Simhash(second.lower().split()))
    print(f"{first} / {second}: texts at {texts}, lists of words at {words}")
text = "the valve is now here"
print("a text and its words are at distance 0:", Simhash(text).distance(Simhash(text.split())) == 0)
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
