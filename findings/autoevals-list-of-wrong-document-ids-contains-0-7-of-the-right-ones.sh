#!/usr/bin/env bash
# Guess: ListContains of autoevals is the share of expected entries that are in the output: none of the ids that were
# expected is 0, and all of them 1, whatever else was retrieved.
# Behaviour: ListContains of autoevals 0.3.0 (npm) pairs each entry with the nearest one by its scorer, which is
# Levenshtein, the share of equal letters: three wrong ids of the form doc-101 have .71, since five of seven letters are
# those of all ids. The sum is divided by the longer list, so that one expected id among ten retrieved is .1 until
# allowExtraEntities is set. With ExactMatch as scorer the wrong ids have 0.
# Why it matters: for ids, codes and urls, which share most of their letters, a retriever that finds nothing is close to
# one that finds all, and a longer common prefix is a higher score; the length of the list moves it more than what is
# in it.
# Source: autoevals, js/list.ts (pairwiseScorer = Levenshtein; divisor by the longer list).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" autoevals@0.3.0

expected='all right: 1.00
all wrong: 0.71
all wrong, by url: 0.94
all wrong, ExactMatch: 0.00
the right one among ten: 0.10
the right one among ten, allowExtraEntities: 1.00'

cd "$folder"
observed=$(node --input-type=module - 2> "$folder/log" <<'EOF'
import { ExactMatch, ListContains } from "autoevals";

const show = async (name, options) => console.log(`${name}: ${(await ListContains(options)).score.toFixed(2)}`);
const expected = ["doc-205", "doc-206", "doc-207"];
const wrong = ["doc-101", "doc-102", "doc-103"];
const url = (id) => `https://example.org/archive/${id}`;
await show("all right", { output: [...expected].reverse(), expected });
await show("all wrong", { output: wrong, expected });
await show("all wrong, by url", { output: wrong.map(url), expected: expected.map(url) });
await show("all wrong, ExactMatch", { output: wrong, expected, pairwiseScorer: ExactMatch });
const ten = Array.from({ length: 10 }, (_, i) => `doc-${205 + i}`);
const one = { output: ten, expected: ["doc-205"] };
await show("the right one among ten", one);
await show("the right one among ten, allowExtraEntities", { ...one, allowExtraEntities: true });
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
