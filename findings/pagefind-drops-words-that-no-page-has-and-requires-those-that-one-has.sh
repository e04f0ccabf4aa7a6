#!/usr/bin/env bash
# Guess: a page must have all words of a query, or the best pages have most of them; a word that is nowhere empties the
# list, or costs nothing, as any other word that the pages lack.
# Behaviour: Pagefind 1.5.2 joins words by AND, but leaves out a word where no word of the site begins as it does:
# "forest zebra" finds the pages of forest, "forest lake" finds nothing where the two are on different pages. One page
# anywhere with zebra turns the first list into an empty one. A word that is longer than one of the site is cut to it:
# forestry finds forest.
# Why it matters: a typing error is ignored or empties the list by the letters that it begins with; a page that is added
# takes away all results of queries with one of its words; what was measured on a small site does not hold on a large.
# Source: Pagefind, pagefind_web/src/search.rs (search_term: terms without pages are skipped).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" pagefind@1.5.2

expected='forest: fire, walk
lake: boat
forest lake: none
forest zebra: fire, walk
zebra: none
forestry: fire, walk
with a page of the zoo, forest zebra: none
with a page of the zoo, zebra: zoo'

cd "$folder"
cat > search.mjs <<'EOF'
import fs from "node:fs";
import { createIndex } from "pagefind";

const [folder, prefix, pages, queries] = process.argv.slice(2).map((text, i) => (i < 2 ? text : JSON.parse(text)));
const { index } = await createIndex();
for (const [name, text] of Object.entries(pages)) {
    const content = `<html lang="en"><head><title>Page</title></head><body><p>${text}</p></body></html>`;
    await index.addHTMLFile({ url: `${name}/`, content });
}
await index.writeFiles({ outputPath: folder });
await index.deleteIndex();

// What the browser brings: the language of the page, and a server of the files.
globalThis.window = globalThis;
globalThis.location = { origin: "http://localhost", href: "http://localhost/" };
globalThis.document = { querySelector: () => ({ getAttribute: () => "en" }) };
globalThis.fetch = async (url) => new Response(fs.readFileSync(String(url).replace(/[?].*/, "")));
const pagefind = await import(`${folder}/pagefind.js`);
await pagefind.options({ basePath: `${folder}/`, baseUrl: "/" });
for (const query of queries) {
    const { results } = await pagefind.search(query);
    const found = await Promise.all(results.map(async (result) => (await result.data()).url.split("/")[1]));
    console.log(`${prefix}${query}: ${found.sort().join(", ") || "none"}`);
}
process.exit(0);
EOF
pages='"fire": "a forest on fire", "walk": "a walk in the forest", "boat": "a boat on the lake"'
observed=$(node --no-warnings search.mjs "$folder/site" "" "{$pages}" \
    '["forest", "lake", "forest lake", "forest zebra", "zebra", "forestry"]'
node --no-warnings search.mjs "$folder/larger" "with a page of the zoo, " "{$pages, \"zoo\": \"a zebra of the zoo\"}" \
    '["forest zebra", "zebra"]')
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
