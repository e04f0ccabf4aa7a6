#!/usr/bin/env bash
# Guess: a document whose vector is all zeros has no cosine to a query: it is last in sqlite-vec, whichever way is used.
# Behaviour: in sqlite-vec 0.1.9 vec_distance_cosine of such a vector is NaN, of which SQLite makes NULL, and NULL is
# less than every number: ORDER BY the distance puts it first, at the top of every query, before the document that is
# the query itself. A vec0 table with distance_metric=cosine has it last, with a distance of NULL.
# Why it matters: empty chunks and failed calls of an encoder leave zeros. They fill the first places of a search
# without an index, which is what the documentation shows for small collections and for filters, and not those of the
# table, so that both differ where they should check each other. distance < 0.2 leaves the document out.
# Source: sqlite-vec, sqlite-vec.c (vec_distance_cosine, distance_cosine_float); SQLite's documentation, datatype3 (sort
# order) and sqlite3_result_double (NaN).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    sqlite-vec==0.1.9 apsw==3.54.1.0

expected='by distance: zeros NULL, same 0.00, near 0.11, opposite 2.00
vec0 table: same 0.00, near 0.11, opposite 2.00, zeros NULL
distance < 0.2: same, near'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import apsw
import sqlite_vec

documents = {"same": [1, 0], "near": [1, 0.5], "opposite": [-1, 0], "zeros": [0, 0]}
query = (sqlite_vec.serialize_float32([1, 0]),)
database = apsw.Connection(":memory:")
database.enable_load_extension(True)
database.load_extension(sqlite_vec.loadable_path())
database.execute("CREATE TABLE documents (id text, vector blob)")
database.execute("CREATE VIRTUAL TABLE indexed USING vec0(id text primary key, vector float[2] distance_metric=cosine)")
for table in ("documents", "indexed"):
    for name, vector in documents.items():
        row = (name, sqlite_vec.serialize_float32(vector))
        database.execute(f"INSERT INTO {table} (id, vector) VALUES (?, ?)", row)


def show(name, sql):
    rows = database.execute(sql, query)
    texts = [f"{document} {'NULL' if distance is None else f'{distance:.2f}'}" for document, distance in rows]
    print(f"{name}:", ", ".join(texts))


show("by distance", "SELECT id, vec_distance_cosine(vector, ?) AS distance FROM documents ORDER BY distance")
show("vec0 table", "SELECT id, distance FROM indexed WHERE vector MATCH ? AND k = 4")
rows = database.execute("SELECT id FROM documents WHERE vec_distance_cosine(vector, ?) < 0.2", query)
print("distance < 0.2:", ", ".join(document for (document,) in rows))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
