#!/usr/bin/env bash
# Guess: ts_rank counts how often the words occur, and ts_rank_cd how near to each other: the documentation says that
# the first "ranks vectors based on the frequency of their matching lexemes".
# Behaviour: in PostgreSQL 18 (PGlite 0.5.17), ts_rank of words joined by & is by their distance: two words that stand
# 31 apart have 1 / 2500 of the rank that they have side by side, and no frequency makes up for it. Joined by |, the
# same words in the same documents are ranked by frequency alone, in the opposite order.
# Why it matters: plainto_tsquery joins by &: the rank of a long document hangs on one lucky pair of words, and a change
# of the operator to widen recall turns the ranking around.
# Source: PostgreSQL, src/backend/utils/adt/tsrank.c (calc_rank_and and word_distance; calc_rank_or).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected='oak & pine: side by side 0.0991, apart 0.00004, apart and often 0.0002
oak | pine: side by side 0.0608, apart 0.0608, apart and often 0.0827'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";

const database = new PGlite();
const between = " word".repeat(30);
const texts = {
    "side by side": "oak pine",
    apart: `oak${between} pine`,
    "apart and often": `oak oak oak${between} pine pine pine`,
};
for (const query of ["oak & pine", "oak | pine"]) {
    const ranks = [];
    for (const [name, text] of Object.entries(texts)) {
        const { rows } = await database.query(
            "select ts_rank(to_tsvector('english', $1), to_tsquery('english', $2)) as rank",
            [text, query],
        );
        const digits = rows[0].rank < 0.0001 ? 5 : 4;
        ranks.push(`${name} ${rows[0].rank.toFixed(digits)}`);
    }
    console.log(`${query}: ${ranks.join(", ")}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
