#!/usr/bin/env bash
# Guess: long-term and long term find each other: the parser of PostgreSQL indexes a word with a hyphen whole and in
# parts, for this purpose.
# Behaviour: in PostgreSQL 18 (PGlite 0.5.17) it goes one way. A text with long-term is found by the query long term;
# a text with long term is not found by long-term, by plainto_tsquery or websearch_to_tsquery, as these want the whole
# word beside its parts, joined by "and" or as a phrase. Neither finds longterm.
# Why it matters: which spelling finds more depends on the side that has the hyphen, and people copy terms with
# hyphens from texts into queries: state-of-the-art, follow-up, e-mail. With | in place of & such texts come back.
# Source: PostgreSQL, documentation of text search parsers (compound words are tokens of their own, and so are their
# parts); src/backend/tsearch/to_tsany.c (pushval_morph).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected='plainto_tsquery, long-term: long-term memory
websearch_to_tsquery, long-term: long-term memory
plainto_tsquery, long term: long-term memory; long term memory
websearch_to_tsquery, long term: long-term memory; long term memory
plainto_tsquery, long-term memory: long-term memory
websearch_to_tsquery, long-term memory: long-term memory
plainto_tsquery, long term memory: long-term memory; long term memory
websearch_to_tsquery, long term memory: long-term memory; long term memory'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";

const database = new PGlite();
const texts = ["long-term memory", "long term memory", "longterm memory"];
for (const query of ["long-term", "long term", "long-term memory", "long term memory"]) {
    for (const parse of ["plainto_tsquery", "websearch_to_tsquery"]) {
        const found = [];
        for (const text of texts) {
            const select = `select to_tsvector('english', $1) @@ ${parse}('english', $2) as found`;
            const { rows } = await database.query(select, [text, query]);
            if (rows[0].found) found.push(text);
        }
        console.log(`${parse}, ${query}: ${found.join("; ")}`);
    }
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
