#!/usr/bin/env bash
# Guess: a vector of zeros, which has no direction, is refused by an index of distance_metric=cosine, or comes last with
# a distance of 1 or more.
# Behaviour: in sqlite-vec 0.1.9 its distance is not a number, shown as NULL, and compares with nothing: it keeps the
# place that it happens to come by. With the two nearest of three vectors it is one of them where it was inserted first,
# before an equal vector of distance 0, and is none where it was inserted last.
# Why it matters: texts that are empty, or have no known word, get zeros from hashing, averaged word vectors and TF-IDF:
# one such row takes a place of each result, and which rows are found depends on the order of insertion.
# Source: sqlite-vec, sqlite-vec.c (cosine distance divides by the product of the norms; vec0 keeps the k smallest by
# comparisons).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check apsw==3.54.1.0 sqlite-vec==0.1.9

expected='zeros, same, near, far: first two: zeros, same 0.0; all: zeros, same 0.0, near 0.2, far 2.0
same, near, far, zeros: first two: same 0.0, near 0.2; all: same 0.0, near 0.2, far 2.0, zeros
far, zeros, near, same: first two: same 0.0, near 0.2; all: same 0.0, near 0.2, far 2.0, zeros'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import apsw
import sqlite_vec

vectors = {"zeros": (0, 0), "same": (1, 0), "near": (0.8, 0.6), "far": (-1, 0)}
query = sqlite_vec.serialize_float32([1, 0])


def nearest(names, k):
    database = apsw.Connection(":memory:")
    database.enableloadextension(True)
    database.loadextension(sqlite_vec.loadable_path())
    database.execute("create virtual table items using vec0(vector float[2] distance_metric=cosine, +name text)")
    for name in names:
        row = (sqlite_vec.serialize_float32(vectors[name]), name)
        database.execute("insert into items (vector, name) values (?, ?)", row)
    rows = database.execute("select name, distance from items where vector match ? and k = ?", (query, k))
    return ", ".join(name if distance is None else f"{name} {distance:.1f}" for name, distance in rows)


for names in (("zeros", "same", "near", "far"), ("same", "near", "far", "zeros"), ("far", "zeros", "near", "same")):
    print(f"{', '.join(names)}: first two: {nearest(names, 2)}; all: {nearest(names, 4)}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
