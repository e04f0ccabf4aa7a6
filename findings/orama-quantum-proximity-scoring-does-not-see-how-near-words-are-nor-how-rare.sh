#!/usr/bin/env bash
# Guess: the plugin for Quantum Proximity Scoring ranks by the proximity of the words of the query, as its README says:
# two words side by side are above the same words thirty apart, and a text with the rare word of the query is above one
# with its stop words.
# Behaviour: @orama/plugin-qps 3.1.18 (npm) counts how many words of the query the same sentence has, and nothing of
# where in it: side by side and 28 words apart are equal, while a full stop between two neighbours halves the score.
# There is no rarity: "the way of the world" is far above the one text with the penguin for "the way of penguin".
# Words that begin with the query count each as the word, so that forestry and forester are above forest.
# Why it matters: it replaces BM25 as a whole; where the texts are titles or passages without full stops, the order is
# that of counts of matched prefixes, and stop words decide for questions.
# Source: the plugin's README ("ranks search results based on the proximity of query tokens"), the output below.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @orama/orama@3.1.18 @orama/plugin-qps@3.1.18

expected='forest lake: side by side 4.07, apart 4.07, over a full stop 2.07
the way of penguin: the way of the world 7.75, penguin of stone 4.67, the end of it 4.50
forest: forestry forester 3.00, forest 2.00'

cd "$folder"
observed=$(node --input-type=module - 2> "$folder/log" <<'EOF'
import { create, insert, search } from "@orama/orama";
import { pluginQPS } from "@orama/plugin-qps";

const words = (count) => Array.from({ length: count }, (_, index) => `w${index}`).join(" ");

async function show(term, texts) {
  const index = create({ schema: { text: "string" }, plugins: [pluginQPS()] });
  for (const [id, text] of Object.entries(texts)) insert(index, { id, text });
  const { hits } = await search(index, { term, limit: 10 });
  console.log(`${term}:`, hits.map((hit) => `${hit.id} ${hit.score.toFixed(2)}`).join(", "));
}

await show("forest lake", {
  "side by side": `forest lake ${words(28)}`,
  apart: `forest ${words(28)} lake`,
  "over a full stop": `${words(14)} forest. lake ${words(14)}`,
});
await show("the way of penguin", {
  "penguin of stone": "penguin of stone",
  "the way of the world": "the way of the world",
  "the end of it": "the end of it",
});
await show("forest", { forest: "forest", "forestry forester": "forestry forester" });
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
