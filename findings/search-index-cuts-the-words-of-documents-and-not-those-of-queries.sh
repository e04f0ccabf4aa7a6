#!/usr/bin/env bash
# Guess: search-index treats a query as it treats a document: what is in a text is found by the same characters.
# Behaviour: search-index 6.0.1 cuts texts into runs of letters and digits, "wi-fi" into wi and fi, "3.5" into 3 and 5.
# What SEARCH is given is put in small letters and not cut: "wi-fi", "3.5" and "U.S." find nothing, and neither does a
# query that is one string of two words; the list of its parts does. A year that is a number in the document is not
# found by the same digits, one in a text is.
# Why it matters: a box that splits at blanks, or hands the text on, has no result for words with a hyphen, a point or
# an apostrophe, and nothing is said; the query has to be cut by the expression that the index was made with.
# Source: search-index, src/tokenisationPipelineStages.js (SPLIT), src/SearchIndex.js (tokenSplitRegex), src/read.js.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" search-index@6.0.1 memory-level@3.1.0

expected='wi-fi: nothing
wi, fi: router
3.5: nothing
3, 5: router
U.S.: nothing
u, s: report
oak table: nothing
oak, table: desk
OAK: desk
2024: report'

cd "$folder"
cat > search.mjs <<'EOF'
import { MemoryLevel } from "memory-level";
import { SearchIndex } from "search-index";

const { PUT, SEARCH } = await new SearchIndex({ name: "documents", Level: MemoryLevel });
await PUT([
    { _id: "router", text: "wi-fi router, version 3.5" },
    { _id: "desk", text: "oak table", year: 2024 },
    { _id: "report", text: "U.S. report of 2024" },
]);
const queries = [
    ["wi-fi"], ["wi", "fi"], ["3.5"], ["3", "5"], ["U.S."], ["u", "s"],
    ["oak table"], ["oak", "table"], ["OAK"], ["2024"],
];
for (const query of queries) {
    const { RESULT } = await SEARCH(query);
    console.log(`${query.join(", ")}:`, RESULT.map(({ _id }) => _id).join(", ") || "nothing");
}
EOF
observed=$(node search.mjs)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
