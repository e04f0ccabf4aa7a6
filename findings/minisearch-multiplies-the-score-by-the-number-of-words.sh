#!/usr/bin/env bash
# Guess: the BM25+ score of a document for several words is the sum of its scores for each of them.
# Behaviour: MiniSearch 7.2.0 multiplies the sum by the number of the query's words that the document matches. A document
# with both words of a query has four times, not twice, the score of one that has one of them, and two frequent words
# pass a rare one.
# Why it matters: the order is not that of BM25+, a list is not the sum of the lists of its words, and scores of queries
# of unlike length cannot be compared, normalised or cut at one threshold.
# Source: minisearch, src/MiniSearch.ts (search: score * quality).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" minisearch@7.2.0

expected='apple: both words 1.544, one 1.544
apple pear: both words 6.178, one 1.544
valve seal quasar: two frequent words 4.604, the rare word 3.350
valve: 1.151
seal: 1.151
quasar: 3.350'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import MiniSearch from "minisearch";

function searcher(texts) {
  const index = new MiniSearch({ fields: ["text"] });
  index.addAll(texts.map((text, id) => ({ id, text })));
  return (query, id) => index.search(query).find((hit) => hit.id === id)?.score.toFixed(3);
}

const fruit = searcher(["apple pear", "apple stone", "wood pear", "wood stone", "sand clay", "rock clay"]);
for (const query of ["apple", "apple pear"])
  console.log(`${query}: both words ${fruit(query, 0)}, one ${fruit(query, 1)}`);
const parts = searcher([...Array(6).fill("valve seal"), "quasar pump", ...Array(6).fill("pump pipe")]);
const both = "valve seal quasar";
console.log(`${both}: two frequent words ${parts(both, 0)}, the rare word ${parts(both, 6)}`);
for (const word of ["valve", "seal"]) console.log(`${word}: ${parts(word, 0)}`);
console.log(`quasar: ${parts("quasar", 6)}`);
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
