#!/usr/bin/env bash
# Guess: similarity of pg_trgm is 1 for texts that are equal but for case, and below 1 for any others.
# Behaviour: in PostgreSQL 18 (PGlite 0.5.17), trigrams are a set, taken of each word alone, and marks are no part of a
# word: words in another order, repeated words, a repeated syllable and names that differ in a mark have similarity 1.
# C++ and C# are equal, and `banana` is `bananana`.
# Why it matters: similarity(...) = 1 or a threshold near it is used to find duplicates and to join names; ORDER BY
# similarity puts such texts level with the exact one, in any order.
# Source: PostgreSQL, contrib/pg_trgm/trgm_op.c (generate_trgm removes doubles); documentation, "pg_trgm".

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected='new york, york new: 1
C++, C#: 1
banana, bananana: 1
dog house, dog dog house: 1
oak, oaks: 0.5'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm";

const database = new PGlite({ extensions: { pg_trgm } });
await database.exec("create extension pg_trgm");
const pairs = [
    ["new york", "york new"],
    ["C++", "C#"],
    ["banana", "bananana"],
    ["dog house", "dog dog house"],
    ["oak", "oaks"],
];
for (const pair of pairs) {
    const { rows } = await database.query("select similarity($1, $2) as value", pair);
    console.log(`${pair.join(", ")}: ${rows[0].value}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
