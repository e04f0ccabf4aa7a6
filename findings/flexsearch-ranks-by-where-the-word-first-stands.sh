#!/usr/bin/env bash
# Guess: a full-text index ranks a document that says the word five times above one that says it once, and a rare word
# of the query above a frequent one.
# Behaviour: FlexSearch 0.8.212 has no frequencies, neither in a document nor of documents. It ranks by where the word
# first stands, in classes that widen with the length; within a class, by the order in which documents were added. A
# mention in the second place leads over five from the fourth on; a text that begins with the word and one that is
# nothing but the word come in the order in which they were added.
# Why it matters: what is called relevance there is earliness: texts that begin with their subject work, others come in
# the order of insertion. A fusion with BM25 or vectors gives such ranks the same weight.
# Source: flexsearch, src/index/add.js (get_score by the position of a term).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" flexsearch@0.8.212

expected='heat: once_first_a, five_first, once_second, five_from_fourth
added in the other order: five_first, once_first_a, once_second, five_from_fourth'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import FlexSearch from "flexsearch";

const texts = {
  once_second: "a heat of the summer in town",
  five_from_fourth: "this is about heat heat heat heat heat",
  once_first_a: "heat is not what this page is about",
  five_first: "heat heat heat heat heat",
};
const index = new FlexSearch.Index({ tokenize: "strict" });
Object.entries(texts).forEach(([id, text]) => index.add(id, text));
console.log(`heat: ${index.search("heat").join(", ")}`);
const turned = new FlexSearch.Index({ tokenize: "strict" });
Object.entries(texts).reverse().forEach(([id, text]) => turned.add(id, text));
console.log(`added in the other order: ${turned.search("heat").join(", ")}`);
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
