#!/usr/bin/env bash
# Guess: a phrase is found wherever it stands in a text, since to_tsvector takes the whole text and gives no warning.
# Behaviour: PostgreSQL 18 (PGlite 0.5.17) writes the positions after 16,383 as 16383. Words there are found alone, but
# no phrase is, all words standing at one place; ts_rank of words joined by & is 1e-20, the least there is, where these
# are their only places.
# Why it matters: books, reports and judgements of courts have more words than that; what stands in their second part is
# lost for quoted queries, and documents found by it are ranked below all others.
# Source: PostgreSQL, documentation, "Text Search Types" (larger positions are silently set to 16383); tsrank.c
# (calc_rank_and skips a distance of 0).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected='16000 words before: oak true, "oak pine" true, ts_rank oak & pine 0.099
17000 words before: oak true, "oak pine" false, ts_rank oak & pine 1e-20'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";

const database = new PGlite();
for (const before of [16000, 17000]) {
    const { rows } = await database.query(
        `select vector @@ websearch_to_tsquery('english', 'oak') as word,
                vector @@ websearch_to_tsquery('english', '"oak pine"') as phrase,
                ts_rank(vector, websearch_to_tsquery('english', 'oak pine')) as rank
         from (select to_tsvector('english', $1) as vector) as texts`,
        ["word ".repeat(before) + "oak pine"],
    );
    const { word, phrase, rank } = rows[0];
    const shown = rank < 0.001 ? rank : rank.toFixed(3);
    console.log(`${before} words before: oak ${word}, "oak pine" ${phrase}, ts_rank oak & pine ${shown}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
