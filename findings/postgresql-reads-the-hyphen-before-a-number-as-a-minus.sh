#!/usr/bin/env bash
# Guess: the text `COVID-19` has the words covid and 19, and `pages 3-5` has 3 and 5.
# Behaviour: the parser of PostgreSQL 18 (PGlite 0.5.17) reads a hyphen before a digit as a sign: the words are covid
# and -19, 3 and -5, and of a date 2021-03-15 the month is -03. The query `covid 19` does not find COVID-19, nor does
# `covid19`, and 15 is in no date.
# Why it matters: names of models, ranges and dates are written with and without a hyphen; in a test collection these
# topics lose their relevant documents, which other engines find.
# Source: PostgreSQL, documentation, "Parsers" (token type int, a signed integer); src/backend/tsearch/wparser_def.c.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected="COVID-19 vaccine: '-19':2 'covid':1 'vaccin':3
    covid-19 true, covid 19 false, covid19 false
pages 3-5: '-5':3 '3':2 'page':1
    3 5 false, 5 false
built 2021-03-15: '-03':3 '-15':4 '2021':2 'built':1
    2021-03-15 true, 15 false"

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";

const database = new PGlite();
const queries = {
    "COVID-19 vaccine": ["covid-19", "covid 19", "covid19"],
    "pages 3-5": ["3 5", "5"],
    "built 2021-03-15": ["2021-03-15", "15"],
};
for (const [text, asked] of Object.entries(queries)) {
    const words = await database.query("select to_tsvector('english', $1)::text as words", [text]);
    console.log(`${text}: ${words.rows[0].words}`);
    const found = [];
    for (const query of asked) {
        const { rows } = await database.query(
            "select to_tsvector('english', $1) @@ websearch_to_tsquery('english', $2) as found",
            [text, query],
        );
        found.push(`${query} ${rows[0].found}`);
    }
    console.log(`    ${found.join(", ")}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
