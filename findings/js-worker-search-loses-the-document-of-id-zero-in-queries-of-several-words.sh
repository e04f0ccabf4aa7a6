#!/usr/bin/env bash
# Guess: a query of several words finds in js-worker-search the documents that have them all, whatever their ids, which
# may be any value.
# Behaviour: js-worker-search 2.0.0 (npm) finds the document of id 0 by each of its words alone, and by no two of them,
# in each of its three modes. With ids from 1 on, or of letters, it is found.
# Why it matters: the position in a list is the id that lies nearest, and its first document, often the title page or
# the best seller, is missing from every longer query. A test with one word does not show it.
# Source: js-worker-search 2.0.0, the search of the worker (the ids of the words are joined where the value is true).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" js-worker-search@2.0.0

expected='ALL_SUBSTRINGS: york 0 1 2, new york 1, new york hotel 1; from 1: york 1 2 3, new york 1 2, new york hotel 1 2
EXACT_WORDS: york 0 1 2, new york 1, new york hotel 1; from 1: york 1 2 3, new york 1 2, new york hotel 1 2
PREFIXES: york 0 1 2, new york 1, new york hotel 1; from 1: york 1 2 3, new york 1 2, new york hotel 1 2'

cd "$folder"
observed=$(node - 2> "$folder/log" <<'EOF'
const library = require("js-worker-search");

const texts = ["new york hotel", "hotel of new york", "york minster"];
const search = async (mode, first) => {
  const api = new library.default({ indexMode: library.INDEX_MODES[mode] });
  texts.forEach((text, position) => api.indexDocument(first + position, text));
  const rows = [];
  for (const query of ["york", "new york", "new york hotel"]) {
    rows.push(`${query} ${(await api.search(query)).sort().join(" ")}`);
  }
  return rows.join(", ");
};
(async () => {
  for (const mode of ["ALL_SUBSTRINGS", "EXACT_WORDS", "PREFIXES"]) {
    console.log(`${mode}: ${await search(mode, 0)}; from 1: ${await search(mode, 1)}`);
  }
})();
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
