#!/usr/bin/env bash
# Guess: ORDER BY embedding <=> query LIMIT 100 returns 100 documents from a table of 1,000, with an index as without.
# Behaviour: an HNSW index of pgvector 0.8.0 yields hnsw.ef_search documents, 40 by default, and PostgreSQL takes from
# these what a condition excludes and what was deleted and not yet vacuumed: LIMIT 100 gives 40 documents, LIMIT 10 of
# every tenth document 4, LIMIT 10 after 35 near ones were deleted 5. Nothing is said; without the index, which a
# planner leaves out for small tables, the lists are full.
# Why it matters: candidates for fusion or a reranker end at 40, recall@100 is that of 40, and a document that is
# replaced by a delete and an insert takes two places of the 40 until the vacuum. hnsw.iterative_scan (off by default)
# or an ef_search above the depth gives the full list.
# Source: pgvector, README (HNSW query options, Filtering, Troubleshooting), src/hnswscan.c.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.3.14

expected='no index: LIMIT 100 gives 100, LIMIT 10 of every tenth 10
index: LIMIT 100 gives 40, LIMIT 10 of every tenth 4
35 deleted: LIMIT 100 gives 5, LIMIT 10 gives 5
35 deleted, iterative scan: LIMIT 100 gives 100, LIMIT 10 gives 10
vacuumed: LIMIT 100 gives 40, LIMIT 10 gives 10'

cd "$folder"
cat > search.mjs <<'EOF'
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite/vector";

const database = new PGlite({ extensions: { vector } });
await database.exec(`
    CREATE EXTENSION vector;
    CREATE TABLE documents (id int, embedding vector(2));
    INSERT INTO documents
        SELECT i, format('[%s, %s]', cos(i * 0.001), sin(i * 0.001))::vector FROM generate_series(0, 999) i;
`);
const length = async (limit, condition = "true") => {
    const query = `SELECT id FROM documents WHERE ${condition} ORDER BY embedding <=> '[1, 0]' LIMIT ${limit}`;
    return (await database.query(query)).rows.length;
};
const tenths = async () =>
    `LIMIT 100 gives ${await length(100)}, LIMIT 10 of every tenth ${await length(10, "id % 10 = 0")}`;
const lengths = async () => `LIMIT 100 gives ${await length(100)}, LIMIT 10 gives ${await length(10)}`;

console.log("no index:", await tenths());
await database.exec("CREATE INDEX ON documents USING hnsw (embedding vector_cosine_ops); SET enable_seqscan = off");
console.log("index:", await tenths());
await database.exec("DELETE FROM documents WHERE id < 35");
console.log("35 deleted:", await lengths());
await database.exec("SET hnsw.iterative_scan = strict_order");
console.log("35 deleted, iterative scan:", await lengths());
await database.exec("SET hnsw.iterative_scan = off");
await database.exec("VACUUM documents");
console.log("vacuumed:", await lengths());
EOF
observed=$(node search.mjs)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
