#!/usr/bin/env bash
# Guess: a document whose vector is all zeros, or which has none yet, has no similarity to a query in pgvector: it is
# last, and no threshold lets it through.
# Behaviour: in pgvector 0.8.0 the cosine distance of a vector of zeros is NaN, which PostgreSQL takes for greater than
# every number: 1 - distance is NaN, too, so it passes similarity > 0.8, is the maximum, and comes first where the
# order is by similarity, descending; a row without a vector comes before it. By distance, ascending, both are last.
# Why it matters: empty chunks and failed calls of an encoder leave zeros and nulls. A search that shows similarities,
# or adds them to scores of the text, has these documents at the top of every query; the same search by distance has
# them at the end, and an index for the cosine holds neither.
# Source: pgvector, src/vector.c (cosine_distance); PostgreSQL's documentation, 8.1.3 (NaN), ORDER BY (nulls).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.3.14

expected='by similarity: none null, zeros NaN, same 1.00, near 0.89, opposite -1.00
by distance: same 0.00, near 0.11, opposite 2.00, zeros NaN, none null
similarity > 0.8: same, near, zeros
distance < 0.2: same, near
highest similarity: NaN'

cd "$folder"
cat > search.mjs <<'EOF'
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite/vector";

const database = new PGlite({ extensions: { vector } });
await database.exec("CREATE EXTENSION vector; CREATE TABLE documents (id text, embedding vector(2))");
await database.exec(`INSERT INTO documents VALUES
    ('same', '[1, 0]'), ('near', '[1, 0.5]'), ('opposite', '[-1, 0]'), ('zeros', '[0, 0]'), ('none', null)`);
const distance = "(embedding <=> '[1, 0]')";
const similarity = `(1 - ${distance})`;
const text = (value) => (value === null ? "null" : Number.isNaN(value) ? "NaN" : value.toFixed(2));
const rows = async (query) => (await database.query(query)).rows;
const list = async (query) => (await rows(query)).map((row) => Object.values(row).join(" ")).join(", ");
for (const [name, measure, order] of [["similarity", similarity, "DESC"], ["distance", distance, "ASC"]]) {
    const found = await rows(`SELECT id, ${measure} AS value FROM documents ORDER BY value ${order}`);
    console.log(`by ${name}:`, found.map(({ id, value }) => `${id} ${text(value)}`).join(", "));
}
console.log("similarity > 0.8:", await list(`SELECT id FROM documents WHERE ${similarity} > 0.8`));
console.log("distance < 0.2:", await list(`SELECT id FROM documents WHERE ${distance} < 0.2`));
console.log("highest similarity:", await list(`SELECT max(${similarity}) FROM documents`));
EOF
observed=$(node search.mjs)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
