#!/usr/bin/env bash
# Guess: bm25() of SQLite's full-text search weighs common words little, but as BM25 of Lucene: ten of them count for
# more than a rare one.
# Behaviour: in SQLite 3.51.1 the weight of a word in half of the rows or more is one in a million, where the formula
# would be 0 or negative (Lucene adds 1 within the logarithm: .69 for half): a row with one rare word is above a row
# with all of ten common ones.
# Why it matters: small collections and fields of few words, where many words are common, are ordered by the rest alone.
# Source: sqlite, ext/fts5/fts5_aux.c (fts5Bm25GetData).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pysqlite3-binary==0.5.4.post2

expected='SQLite 3.51.1
ten words in 4 of 10 rows: 3.677248; the first row has ten common
ten words in 5 of 10 rows: 0.000010; the first row has rare
ten words in 6 of 10 rows: 0.000010; the first row has rare'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from pysqlite3 import connect, sqlite_version

common = [f"common{letter}" for letter in "abcdefghij"]
print("SQLite", sqlite_version)
for share in (4, 5, 6):
    base = connect(":memory:")
    base.execute("create virtual table texts using fts5(body)")
    rows = [" ".join(common)] * share + ["rare" + " pad" * 9] * 2 + ["pad " * 10] * (8 - share)
    base.executemany("insert into texts values (?)", [[row] for row in rows])
    found = "select rowid, -bm25(texts) from texts where texts match ? order by bm25(texts), rowid"
    scores = base.execute(found, [" OR ".join([*common, "rare"])]).fetchall()
    first = "rare" if scores[0][0] > share else "ten common"
    print(f"ten words in {share} of 10 rows: {dict(scores)[1]:.6f}; the first row has {first}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
