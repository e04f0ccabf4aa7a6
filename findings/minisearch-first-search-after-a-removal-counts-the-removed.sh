#!/usr/bin/env bash
# Guess: a search changes nothing in the index: once discard has taken documents out, every search for a word gives the
# scores of an index that never had them.
# Behaviour: in MiniSearch 7.2.0, the first search for a word after discard takes the removed documents into the number
# of documents with the word while it meets them, and drops them as it goes: the score can be negative and the word
# rank last. The second search gives what a new index gives.
# Why it matters: after an update (replace discards, too) the same query has two orders, and an evaluation in which
# each query runs once measures the wrong one.
# Source: minisearch, src/MiniSearch.ts (termResults: removeTerm and matchingFields -= 1 inside of the loop; the number
# of documents is lower already).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" minisearch@7.2.0

expected='first search: 3 (0.705), 4 (0.705), 0 (-0.177)
second search: 0 (1.471), 3 (0.705), 4 (0.705)
new index: 0 (1.471), 3 (0.705), 4 (0.705)'

cd "$folder"
observed=$(node - <<'EOF'
const MiniSearch = require("minisearch");

const texts = ["oak hill", "oak lake", "oak road", "pine hill", "pine lake", "oak wood"];
const documents = texts.map((text, id) => ({ id, text }));
const removed = [1, 2, 5];
const index = (chosen) => {
    const search = new MiniSearch({ fields: ["text"] });
    search.addAll(chosen);
    return search;
};
const results = (search) => search.search("oak pine").map(({ id, score }) => `${id} (${score.toFixed(3)})`).join(", ");

const updated = index(documents);
updated.discardAll(removed);
console.log("first search:", results(updated));
console.log("second search:", results(updated));
console.log("new index:", results(index(documents.filter(({ id }) => !removed.includes(id)))));
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
