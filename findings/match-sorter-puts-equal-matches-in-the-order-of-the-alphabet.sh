#!/usr/bin/env bash
# Guess: match-sorter keeps the order of the list that it is given where matches are equally good: a list by popularity
# or by the score of a search stays so within each class of matches.
# Behaviour: match-sorter 8.3.0 (npm) sorts equal matches by their text, with localeCompare: the most popular title is
# last where its word begins with z. There are a few classes, so nearly all titles that begin with the query are equal.
# Below those that contain it come texts that have its letters somewhere in their order, for "art" also "pair of trees".
# Why it matters: it is put behind the answers of a server to filter them as one types, and throws their order away;
# with a limit the best are cut off. A baseSort that returns 0 keeps the order, and a threshold of CONTAINS drops the
# scattered letters.
# Source: match-sorter, README (baseSort, threshold) and src/index.ts (defaultBaseSortFn, MATCHES).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" match-sorter@8.3.0

expected='given: art of zen, art of water, art of painting, art of air, modern art, pair of trees, lake
default: art of air, art of painting, art of water, art of zen, modern art, pair of trees
baseSort of 0: art of zen, art of water, art of painting, art of air, modern art, pair of trees
threshold CONTAINS: art of air, art of painting, art of water, art of zen, modern art'

cd "$folder"
observed=$(node --input-type=module - 2> "$folder/log" <<'EOF'
import { matchSorter, rankings } from "match-sorter";

const titles = ["art of zen", "art of water", "art of painting", "art of air", "modern art", "pair of trees", "lake"];
const show = (name, options) => console.log(`${name}: ${matchSorter(titles, "art", options).join(", ")}`);
console.log(`given: ${titles.join(", ")}`);
show("default");
show("baseSort of 0", { baseSort: () => 0 });
show("threshold CONTAINS", { threshold: rankings.CONTAINS });
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
