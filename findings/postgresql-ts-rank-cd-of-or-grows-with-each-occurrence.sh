#!/usr/bin/env bash
# Guess: cover density prefers the document that has both words of `oak | pine` near each other, and saturates with
# frequency as ts_rank does.
# Behaviour: in PostgreSQL 18 (PGlite 0.5.17), each occurrence of any of the words is a cover of an OR query, worth 0.1:
# ts_rank_cd is a count of words. Ten times oak has 1, both words side by side 0.2, and 300 words apart 0.2, too.
# ts_rank puts both words first.
# Why it matters: an OR is what is used to have recall like that of other engines; ranked by ts_rank_cd, the longest and
# most repetitive text wins, and nearness, which the function is chosen for, has no part.
# Source: PostgreSQL, src/backend/utils/adt/tsrank.c (calc_rank_cd: the sum over covers; Cover: the shortest match).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected='oak ten times: ts_rank_cd 1.00, ts_rank 0.047
both, side by side: ts_rank_cd 0.20, ts_rank 0.061
both, far apart: ts_rank_cd 0.20, ts_rank 0.061'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";

const database = new PGlite();
const texts = {
    "oak ten times": "oak ".repeat(10),
    "both, side by side": "oak pine",
    "both, far apart": `oak ${"word ".repeat(300)} pine`,
};
for (const [name, text] of Object.entries(texts)) {
    const { rows } = await database.query(
        `select ts_rank_cd(to_tsvector('english', $1), query) as density,
                ts_rank(to_tsvector('english', $1), query) as rank
         from to_tsquery('english', 'oak | pine') as query`,
        [text],
    );
    console.log(`${name}: ts_rank_cd ${rows[0].density.toFixed(2)}, ts_rank ${rows[0].rank.toFixed(3)}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
