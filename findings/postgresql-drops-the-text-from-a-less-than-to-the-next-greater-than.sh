#!/usr/bin/env bash
# Guess: the default parser of PostgreSQL may know markup such as <b> and &amp;, and indexes all words of a plain text.
# Behaviour: in PostgreSQL 18 (PGlite 0.5.17) a sign < with a letter behind it begins a tag, which ends at the next >,
# however far: of values <zero are cold ... values >ten are hot the two sentences between are not in the index. So are a
# generic type's parameters and the name of an included file; of R&D; the D is an entity. With a space or a digit behind
# the sign the words stay.
# Why it matters: texts with comparisons (medicine, statistics) and code lose words or whole sentences in to_tsvector,
# and nothing is said.
# Source: PostgreSQL, src/backend/tsearch/wparser_def.c (TPS_InTagFirst, TPS_InTag, TPS_InXMLEntity).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected='values <zero are cold. Water freezes here. Values >ten are hot: hot ten valu
values < zero are cold. Water freezes here. Values > ten are hot: cold freez hot ten valu water zero
values <0 are cold. Water freezes here. Values >10 are hot: 0 10 cold freez hot valu water
if low<high and high>middle then sort: low middl sort
a function of List<String> and Map<Key, Value>: function key list map valu
#include <stdio.h>: includ
the budget of R&D; the plan: budget plan r'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";

const database = new PGlite();
const texts = [
    "values <zero are cold. Water freezes here. Values >ten are hot",
    "values < zero are cold. Water freezes here. Values > ten are hot",
    "values <0 are cold. Water freezes here. Values >10 are hot",
    "if low<high and high>middle then sort",
    "a function of List<String> and Map<Key, Value>",
    "#include <stdio.h>",
    "the budget of R&D; the plan",
];
for (const text of texts) {
    const { rows } = await database.query("select tsvector_to_array(to_tsvector($1)) as words", [text]);
    console.log(`${text}: ${rows[0].words.join(" ")}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
