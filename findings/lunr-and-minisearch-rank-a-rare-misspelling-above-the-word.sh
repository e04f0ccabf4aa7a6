#!/usr/bin/env bash
# Guess: a fuzzy search for a word ranks documents that have the word itself above those with another word one letter
# away.
# Behaviour: lunr 2.3.9 scores each word that was reached as if it had been asked for, with its own idf and no loss
# for its distance: a misspelling that is in one document of 41 is far above the exact word, which is in 20.
# MiniSearch 7.2.0 lowers it by a factor near one half, the idf still wins. So it is for prefixes: the rarest word
# with the prefix is first.
# Why it matters: allowing for typing errors turns the top of the list over to the typing errors of the collection;
# the more frequent the word that was asked, the further its documents sink.
# Source: lunr, lib/index.js (Index.prototype.query: each expanded term by its own scores, with the boost of the
# clause); MiniSearch, src/MiniSearch.ts (executeQuerySpec, termResults: BM25 of the term that was found).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" lunr@2.3.9 minisearch@7.2.0

expected='lunr, plant: plant stone 0.72, plant stone 0.72
lunr, plant~1: plont stone 2.36, plant stone 0.51
lunr, pl*: plont stone 2.36, plant stone 0.51
MiniSearch, plant: plant stone 1.08, plant stone 1.08
MiniSearch, plant, fuzzy: plont stone 1.87, plant stone 1.08
MiniSearch, pl, prefix: plont stone 1.59, plant stone 0.34'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import lunr from "lunr";
import MiniSearch from "minisearch";

const texts = [...Array(20).fill("plant stone"), "plont stone", ...Array(20).fill("water stone")];
const documents = texts.map((text, id) => ({ id: String(id), text }));
const index = lunr(function () {
  this.ref("id");
  this.field("text");
  documents.forEach((document) => this.add(document));
});
const mini = new MiniSearch({ fields: ["text"] });
mini.addAll(documents);
const found = {
  "lunr, plant": index.search("plant"),
  "lunr, plant~1": index.search("plant~1"),
  "lunr, pl*": index.search("pl*"),
  "MiniSearch, plant": mini.search("plant"),
  "MiniSearch, plant, fuzzy": mini.search("plant", { fuzzy: 1 }),
  "MiniSearch, pl, prefix": mini.search("pl", { prefix: true }),
};
for (const [name, hits] of Object.entries(found)) {
  const top = hits.slice(0, 2).map((hit) => `${texts[hit.ref ?? hit.id]} ${hit.score.toFixed(2)}`);
  console.log(`${name}: ${top.join(", ")}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
