#!/usr/bin/env bash
# Guess: a stop word in a query is dropped, since the index has dropped it: `+the +oak` finds what `+oak` finds.
# Behaviour: lunr 2.3.9 filters stop words when it indexes, not when it searches. `the oak` finds the oaks, but a stop
# word that must be there is in no document: `+the +oak` is always empty.
# Why it matters: the usual way to have AND in lunr is a plus before each word that a user types, or presence REQUIRED
# for each; then a question in plain words, `what is an oak`, has no results at all.
# Source: lunr, lib/lunr.js (searchPipeline has the stemmer alone) and lib/index.js (query: no word, no match).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" lunr@2.3.9

expected='oak: table, forest
the oak: table, forest
+oak +forest: forest
+the +oak: nothing
+what +is +an +oak: nothing'

cd "$folder"
observed=$(node - <<'EOF'
const lunr = require("lunr");

const documents = [
    { id: "forest", text: "what grows in the oak forest" },
    { id: "table", text: "the oak table" },
    { id: "pine", text: "the pine" },
];
const index = lunr(function () {
    this.ref("id");
    this.field("text");
    documents.forEach((document) => this.add(document));
});
for (const query of ["oak", "the oak", "+oak +forest", "+the +oak", "+what +is +an +oak"]) {
    const found = index.search(query).map(({ ref }) => ref);
    console.log(`${query}: ${found.join(", ") || "nothing"}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
