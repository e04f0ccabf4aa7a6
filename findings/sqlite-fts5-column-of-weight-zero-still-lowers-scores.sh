#!/usr/bin/env bash
# Guess: in bm25() of SQLite's FTS5, a column of weight 0 does not count: bm25(t, 1, 0) ranks by the title alone.
# Behaviour: it does not count words of that column, but the length of a row is that of all its columns together, and
# so is the mean length. Of two rows with one title, the one with the long body is far below; a title that has the
# word once passes one that has it twice. The filter "title: heat" changes nothing of this (SQLite 3.51.1).
# Why it matters: weights cannot separate fields: a ranking by titles is largely one by short bodies, and each long
# column that is stored beside them, of weight 0 or not, moves the order.
# Source: SQLite, ext/fts5/fts5_aux.c (fts5Bm25Function: xColumnSize and xColumnTotalSize of column -1).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pysqlite3-binary==0.5.4.post2

expected='heat, weights 1 and 0: heat flow, body of 4 letters: 1.297
heat, weights 1 and 0: heat flow of heat, body of 300 letters: 0.585
heat, weights 1 and 0: heat flow, body of 300 letters: 0.353
title: heat, weights 1 and 0: heat flow, body of 4 letters: 1.297
title: heat, weights 1 and 0: heat flow of heat, body of 300 letters: 0.585
title: heat, weights 1 and 0: heat flow, body of 300 letters: 0.353'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from pysqlite3 import connect

base = connect(":memory:")
base.execute("create virtual table t using fts5(title, body)")
rows = [("heat flow", "wing"), ("heat flow", 60 * "wing "), ("heat flow of heat", 60 * "wing ")]
base.executemany("insert into t values (?, ?)", rows + 8 * [("stone", "clay")])
for query in ("heat", "title: heat"):
    sql = "select title, length(body), -bm25(t, 1, 0) from t where t match ? order by 3 desc"
    for title, length, score in base.execute(sql, [query]):
        print(f"{query}, weights 1 and 0: {title}, body of {length} letters: {score:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
