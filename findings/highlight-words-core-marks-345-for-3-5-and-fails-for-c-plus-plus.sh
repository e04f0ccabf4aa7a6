#!/usr/bin/env bash
# Guess: findAll of highlight-words-core, which react-highlight-words shows, marks the places of the searchWords.
# Behaviour: highlight-words-core 1.2.3 takes each word for a regular expression unless autoEscape is set. 3.5 marks 345
# and 3,5, "what?" marks wha, "(a)" marks every a, "2019." marks 20190, and c++ is an error.
# Why it matters: what a user typed is highlighted where it is not, in the list that shall say why a result was found,
# and the page fails for c++. Prices, versions, questions and formulas have these characters.
# Source: highlight-words-core, README (autoEscape is false by default), src/utils.js (new RegExp of the word).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" highlight-words-core@1.2.3

expected='3.5 in "345 of them take 3.5 or 3,5 mg": 345 | 3.5 | 3,5; with autoEscape: 3.5
what? in "wha is not what?": wha | what; with autoEscape: what?
(a) in "a case of (a)": a | a | a; with autoEscape: (a)
2019. in "20190 in 2019.": 20190 | 2019.; with autoEscape: 2019.
c++ in "c and c++": SyntaxError; with autoEscape: c++
forest in "a forest": forest; with autoEscape: forest'

cd "$folder"
observed=$(node - 2> "$folder/log" <<'EOF'
const { findAll } = require("highlight-words-core");

const marked = (searchWords, textToHighlight, autoEscape) => {
  try {
    const chunks = findAll({ searchWords, textToHighlight, autoEscape }).filter((chunk) => chunk.highlight);
    return chunks.map((chunk) => textToHighlight.slice(chunk.start, chunk.end)).join(" | ");
  } catch (error) {
    return error.constructor.name;
  }
};
const cases = {
  "3.5": "345 of them take 3.5 or 3,5 mg",
  "what?": "wha is not what?",
  "(a)": "a case of (a)",
  "2019.": "20190 in 2019.",
  "c++": "c and c++",
  "forest": "a forest",
};
for (const [word, text] of Object.entries(cases)) {
  console.log(`${word} in "${text}": ${marked([word], text)}; with autoEscape: ${marked([word], text, true)}`);
}
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
