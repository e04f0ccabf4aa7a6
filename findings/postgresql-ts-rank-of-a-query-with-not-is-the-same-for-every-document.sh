#!/usr/bin/env bash
# Guess: a word that is excluded removes documents, and the rest keep the order that they had without it.
# Behaviour: ts_rank of PostgreSQL 18 (PGlite 0.5.17) is 1e-20 for every document of `oak & !pine`, the query that
# websearch_to_tsquery makes of `oak -pine`: the excluded word is one of the words whose distance to the others counts,
# and no matching document has it. With two words and an exclusion, the rank is that of the two words. ts_rank_cd
# keeps the order.
# Why it matters: the operators of a search box pass through websearch_to_tsquery; a user who adds a minus to a query
# of one word gets its documents in no order, and LIMIT takes any of them.
# Source: PostgreSQL, src/backend/utils/adt/tsrank.c (calc_rank_and and SortAndUniqItems, which take words under NOT,
# too; a negative result becomes 1e-20).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected='oak: often 0.08897689, once 0.06079271
oak -pine: often 1e-20, once 1e-20
oak tree -pine: often 0.40246597, once 0.09910322
ts_rank_cd, oak -pine: often 0.5, once 0.1'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";

const database = new PGlite();
const texts = { often: "oak tree oak oak oak oak", once: "oak tree" };

async function show(name, query, rank) {
    const ranks = [];
    for (const [text, words] of Object.entries(texts)) {
        const { rows } = await database.query(
            `select ${rank}(to_tsvector('english', $1), websearch_to_tsquery('english', $2)) as rank`,
            [words, query],
        );
        ranks.push(`${text} ${rows[0].rank}`);
    }
    console.log(`${name}: ${ranks.join(", ")}`);
}

await show("oak", "oak", "ts_rank");
await show("oak -pine", "oak -pine", "ts_rank");
await show("oak tree -pine", "oak tree -pine", "ts_rank");
await show("ts_rank_cd, oak -pine", "oak -pine", "ts_rank_cd");
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
