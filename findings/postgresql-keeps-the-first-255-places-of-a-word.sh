#!/usr/bin/env bash
# Guess: a phrase is found wherever its words stand in a text that to_tsvector took without a warning.
# Behaviour: PostgreSQL 18 (PGlite 0.5.17) keeps the first 255 places of each word. A phrase with a word of the
# subject (the name of a person in a biography, the drug in a report) is not found where it stands behind the 255th
# occurrence, however short the text: here after 510 words. The words joined by & are found. ts_rank stops at the same
# place, and sorts by the part that was kept.
# Why it matters: it is the word of which a document is full that fails, and the longest, most relevant documents that
# lose their phrases. The limit of 16,383 words is known better, and is far beyond it.
# Source: PostgreSQL, documentation, Limitations of text search (no more than 256 positions per lexeme); MAXNUMPOS in
# ts_type.h.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected='100 times oak before: phrase true, both words true, ts_rank 0.0994
254 times oak before: phrase true, both words true, ts_rank 0.0998
255 times oak before: phrase false, both words true, ts_rank 0.0998
1000 times oak before: phrase false, both words true, ts_rank 0.0998'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";

const database = new PGlite();
for (const times of [100, 254, 255, 1000]) {
    const text = `${"oak word ".repeat(times)}oak pine`;
    const { rows } = await database.query(
        `select v @@ phraseto_tsquery('english', 'oak pine') as phrase,
         v @@ to_tsquery('english', 'oak & pine') as words,
         ts_rank(v, to_tsquery('english', 'oak')) as rank from to_tsvector('english', $1) as v`,
        [text],
    );
    const { phrase, words, rank } = rows[0];
    console.log(`${times} times oak before: phrase ${phrase}, both words ${words}, ts_rank ${rank.toFixed(4)}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
