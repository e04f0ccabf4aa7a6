#!/usr/bin/env bash
# Guess: of the texts that fast-fuzzy finds for two words those with both are first; a word that comes between costs
# less than a word that is missing.
# Behaviour: search of fast-fuzzy 1.12.0 (npm) scores a text by its best piece of about the length of the query, letter
# by letter. For `forest stone` the text "forest forest forest" has .75, since "forest fores" is three letters away, and
# "forest wing stone" .67, for the five of "wing ". For `stone forest` it is above "a stone in the old forest", which
# is no better than "stone of the lake", and "forest wing stone" is below the threshold of .6 and not found.
# Why it matters: what looks like a typing error in a text that lacks the word is above what was searched; the longer
# the words between the two, the surer it is lost.
# Source: fast-fuzzy, README (Sellers variant of the Levenshtein distance, useSellers).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" fast-fuzzy@1.12.0

expected='forest stone: forest forest forest 0.75, forest wing stone 0.67
stone forest: forest forest forest 0.75, stone of the lake 0.67, a stone in the old forest 0.67'

cd "$folder"
observed=$(node --input-type=module - 2> "$folder/log" <<'EOF'
import { search } from "fast-fuzzy";

const texts = ["forest wing stone", "forest forest forest", "stone of the lake", "a stone in the old forest"];
for (const query of ["forest stone", "stone forest"]) {
  const found = search(query, texts, { returnMatchData: true });
  console.log(`${query}: ${found.map(({ item, score }) => `${item} ${score.toFixed(2)}`).join(", ")}`);
}
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
