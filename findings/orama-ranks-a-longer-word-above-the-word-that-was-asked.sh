#!/usr/bin/env bash
# Guess: a document with the very word of the query is ranked above one that only has a longer word which begins with
# it.
# Behaviour: Orama 3.1.18 takes every word that begins with the query's for the query's, and weighs each by its own
# idf. A search for cat finds category first, since fewer documents have it than cat. The option exact: true leaves
# longer words out.
# Why it matters: the more common the word that is asked for, the more its rare continuations lead the list: the best
# hit of a search need not have the word at all.
# Source: orama, packages/orama/src/components/index.ts (search: find with prefixes, calculateResultScores with the
# frequency of each found word).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @orama/orama@3.1.18

expected='exact false: category theory 1.300, cat 1.156, cat food 0.642, black cat 0.642
exact true: cat 1.156, cat food 0.642, black cat 0.642'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { create, insert, search } from "@orama/orama";

const index = create({ schema: { text: "string" } });
for (const text of ["cat", "cat food", "black cat", "category theory", "dog", "bird", "fish"]) insert(index, { text });
for (const exact of [false, true]) {
  const { hits } = await search(index, { term: "cat", exact });
  console.log(`exact ${exact}: ${hits.map((hit) => `${hit.document.text} ${hit.score.toFixed(3)}`).join(", ")}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
