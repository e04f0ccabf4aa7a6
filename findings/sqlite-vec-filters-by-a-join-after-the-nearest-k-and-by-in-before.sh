#!/usr/bin/env bash
# Guess: a condition on a joined table holds before the limit in SQL: the nearest ten vectors of documents of 2024 are
# ten, with sqlite-vec as with any table.
# Behaviour: in sqlite-vec 0.1.9 the vec0 table yields its nearest k rows first, and a join or a condition on another
# table takes from these: of 1,000 documents, every tenth of 2024, the ten nearest with a join are one. The same
# condition as id IN (SELECT ...) is looked at during the search and gives ten, as a metadata column of the vec0 table
# does.
# Why it matters: filters by date, site or rights are joins in most schemas; lists are short, or empty where no document
# that may be shown is among the first k, and recall by filter depends on how the condition is written.
# Source: sqlite-vec, sqlite-vec.c (vec0 KNN query plan: rowid IN, metadata constraints); documentation, KNN queries.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    sqlite-vec==0.1.9 apsw==3.54.1.0

expected='join, k = 10: 5
IN, k = 10: 5 15 25 35 45 55 65 75 85 95
metadata column, k = 10: 5 15 25 35 45 55 65 75 85 95'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from math import cos, sin

import apsw
import sqlite_vec

database = apsw.Connection(":memory:")
database.enable_load_extension(True)
database.load_extension(sqlite_vec.loadable_path())
database.execute("CREATE TABLE documents (id integer primary key, year integer)")
database.execute("CREATE VIRTUAL TABLE vectors USING vec0(id integer primary key, vector float[2], year integer)")
for number in range(1, 1001):
    year = 2024 if number % 10 == 5 else 2000
    vector = sqlite_vec.serialize_float32([cos(number / 1000), sin(number / 1000)])
    database.execute("INSERT INTO documents VALUES (?, ?)", (number, year))
    database.execute("INSERT INTO vectors VALUES (?, ?, ?)", (number, vector, year))

query = (sqlite_vec.serialize_float32([1, 0]),)
join = "SELECT id FROM vectors JOIN documents USING (id) WHERE vector MATCH ? AND documents.year = 2024"
alone = "SELECT id FROM vectors WHERE vector MATCH ?"
subquery = "id IN (SELECT id FROM documents WHERE year = 2024)"
for name, sql in (
    ("join, k = 10", f"{join} AND k = 10"),
    ("IN, k = 10", f"{alone} AND k = 10 AND {subquery}"),
    ("metadata column, k = 10", f"{alone} AND k = 10 AND year = 2024"),
):
    print(f"{name}:", *(number for (number,) in database.execute(sql, query)))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
