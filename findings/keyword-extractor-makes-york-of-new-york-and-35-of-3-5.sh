#!/usr/bin/env bash
# Guess: keyword-extractor, which makes a query of a question by taking out stop words, keeps names and numbers whole:
# with remove_digits: false, "3.5" is a keyword.
# Behaviour: keyword-extractor 0.3.0 takes points and commas out before it splits at white space: "3.5" and "35" are one
# keyword, "4,50" is 450, and ".NET" net. Its English list of stop words, compared in small letters, has new, second,
# old, us and each single letter: "New York" is york, "US Army" army, "vitamin C" and "hepatitis B" one word.
# Why it matters: the keywords are sent to an index that has the words as they stand: 35 is in no text about version
# 3.5, york finds England, and vitamin finds each of them.
# Source: keyword-extractor, lib/keyword_extractor.js, lib/stopwords/en.js.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" keyword-extractor@0.3.0

expected='Python 3.5: python 35
Python 35: python 35
price of 4,50: price 450
New York and York: york york
US Army: army
second world war: world war
vitamin C: vitamin
hepatitis B: hepatitis
high blood pressure: high blood pressure'

cd "$folder"
observed=$(node - <<'EOF'
const extractor = require("keyword-extractor");

const texts = [
    "Python 3.5", "Python 35", "price of 4,50", "New York and York", "US Army", "second world war", "vitamin C",
    "hepatitis B", "high blood pressure",
];
for (const text of texts) {
    const keywords = extractor.extract(text, { language: "english", return_changed_case: true, remove_digits: false });
    console.log(`${text}:`, keywords.join(" "));
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
