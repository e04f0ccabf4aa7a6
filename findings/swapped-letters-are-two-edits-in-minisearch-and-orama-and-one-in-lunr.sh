#!/usr/bin/env bash
# Guess: fuzzy search with one edit finds a word of which two neighbouring letters are swapped, as in Lucene.
# Behaviour: a swap is two edits in MiniSearch 7.2.0 (fuzzy: 1) and @orama/orama 3.1.18 (tolerance: 1), which find
# nothing for poilcy and find policy for every other slip, and one edit in lunr 2.3.9 (~1). fuzzy: 0.2, which MiniSearch
# gives as the example, allows one edit for words of three to seven letters, so that no swap in these is found.
# Why it matters: swaps are among the most frequent slips in queries. A value of tolerance that was measured with one
# engine loses them in another; two edits for all words bring back a crowd of short words instead.
# Source: MiniSearch, SearchableMap/fuzzySearch.ts, and Orama, trees/radix.ts: Levenshtein's distance; lunr,
# token_set.js (fromFuzzyString: transpositions).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" minisearch@7.2.0 @orama/orama@3.1.18 lunr@2.3.9

expected='missing, 1: MiniSearch policy, Orama policy, lunr policy
missing, 2: MiniSearch policy, Orama policy, lunr policy
added, 1: MiniSearch policy, Orama policy, lunr policy
added, 2: MiniSearch policy, Orama policy, lunr policy
wrong, 1: MiniSearch policy, Orama policy, lunr policy
wrong, 2: MiniSearch policy, Orama policy, lunr policy
swapped, 1: MiniSearch nothing, Orama nothing, lunr policy
swapped, 2: MiniSearch policy, Orama policy, lunr policy
swapped, 0.2: MiniSearch nothing'

cd "$folder"
observed=$(node --input-type=module - 2> "$folder/log" <<'EOF'
import { create, insert, search } from "@orama/orama";
import lunr from "lunr";
import MiniSearch from "minisearch";

const texts = ["policy", "orange"];
const miniSearch = new MiniSearch({ fields: ["text"], storeFields: ["text"] });
const orama = create({ schema: { text: "string" } });
for (const [id, text] of texts.entries()) {
    miniSearch.add({ id, text });
    insert(orama, { text });
}
const lunrIndex = lunr(function () {
    this.ref("text");
    this.field("text");
    this.pipeline.reset();
    this.searchPipeline.reset();
    for (const text of texts) {
        this.add({ text });
    }
});
const found = (hits) => hits.join(", ") || "nothing";
for (const [slip, query] of [["missing", "polcy"], ["added", "pollicy"], ["wrong", "polacy"], ["swapped", "poilcy"]]) {
    for (const edits of [1, 2]) {
        const ofMiniSearch = miniSearch.search(query, { fuzzy: edits });
        const ofOrama = await search(orama, { term: query, tolerance: edits });
        console.log(
            `${slip}, ${edits}: MiniSearch ${found(ofMiniSearch.map((hit) => hit.text))},`,
            `Orama ${found(ofOrama.hits.map((hit) => hit.document.text))},`,
            `lunr ${found(lunrIndex.search(`${query}~${edits}`).map((hit) => hit.ref))}`,
        );
    }
}
console.log("swapped, 0.2: MiniSearch", found(miniSearch.search("poilcy", { fuzzy: 0.2 }).map((hit) => hit.text)));
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
