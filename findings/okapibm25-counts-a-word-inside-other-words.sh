#!/usr/bin/env bash
# Guess: BM25 of a keyword counts the documents and the places where this word stands.
# Behaviour: okapibm25 1.4.1 counts the keyword wherever its letters stand, also inside longer words: "art" is in "start",
# "party" and "heart". Term and document frequencies are those of substrings, document lengths those of words.
# Why it matters: short keywords find documents that lack them, here above the one that has the word; a baseline that is
# called Okapi BM25 is another one for every short word.
# Source: okapibm25, BM25.ts (getTermFrequency, getIDF).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" okapibm25@1.4.1

expected='art: modern art 1.063, party start heart 1.495, garden chair 0.000, kitchen table 0.000
garden: modern art 0.000, party start heart 0.000, garden chair 1.590, kitchen table 0.000'

cd "$folder"
observed=$(node - <<'EOF'
const BM25 = require("okapibm25").default;

const documents = ["modern art", "party start heart", "garden chair", "kitchen table", "window frame", "copper wire"];
for (const word of ["art", "garden"]) {
  const scores = BM25(documents, [word], { k1: 1.2, b: 0.75 });
  console.log(`${word}: ${documents.slice(0, 4).map((text, number) => `${text} ${scores[number].toFixed(3)}`).join(", ")}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
