#!/usr/bin/env bash
# Guess: create_fts_index of DuckDB, with its default options, indexes words and numbers as other engines do.
# Behaviour: in DuckDB 1.5.5 all that is no letter from a to z separates words, digits as well. "747" finds nothing,
# "boeing 747" ties with "boeing 707", h2o and b2b are single letters that the list of stop words drops, and a query
# of 2020 has no words.
# Why it matters: queries on years, models, articles of law and gene names lose the word that decides, silently;
# figures on such collections are lower than those of any other BM25, and no k1 or b repairs it.
# ignore='(\\.|[^a-z0-9])+' does.
# Source: DuckDB, documentation of the extension fts: parameter ignore, default (\\.|[^a-z])+.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    duckdb==1.5.5 duckdb-extension-fts==1.5.5

expected='default, 747: nothing
default, boeing 747: wing of a boeing 707 0.284, wing of a boeing 747 0.284
default, h2o: nothing
default, 2020: nothing
ignore without digits, 747: wing of a boeing 747 0.504
ignore without digits, boeing 747: wing of a boeing 747 0.794, wing of a boeing 707 0.29
ignore without digits, h2o: flow of h2o in 2020 0.504
ignore without digits, 2020: flow of h2o in 2020 0.504'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from pathlib import Path

import duckdb
import duckdb_extension_fts

(extension,) = Path(duckdb_extension_fts.__file__).parent.glob("extensions/*/fts.duckdb_extension")
base = duckdb.connect()
base.execute(f"load {chr(39)}{extension}{chr(39)}")
base.execute("create table d(id integer, t varchar)")
texts = ["wing of a boeing 707", "wing of a boeing 747", "flow of h2o in 2020", "stone and clay"]
base.executemany("insert into d values (?, ?)", list(enumerate(texts)))
select = "select t, round(s, 3) from (select *, fts_main_d.match_bm25(id, ?) s from d) where s > 0 order by 2 desc, id"
for name, options in (("default", ""), ("ignore without digits", ", ignore=$$(\\.|[^a-z0-9])+$$")):
    base.execute(f"pragma create_fts_index($$d$$, $$id$$, $$t$$, overwrite=1{options})")
    for query in ("747", "boeing 747", "h2o", "2020"):
        found = ", ".join(f"{text} {score}" for text, score in base.execute(select, [query]).fetchall())
        print(f"{name}, {query}: {found or 'nothing'}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
