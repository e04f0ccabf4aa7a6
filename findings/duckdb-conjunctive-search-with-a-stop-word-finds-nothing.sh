#!/usr/bin/env bash
# Guess: conjunctive := 1 of DuckDB's match_bm25 returns the documents that have every word of the query, stop words
# left out as they are left out of the index; and a word that is twice in the query counts twice.
# Behaviour: in DuckDB 1.5.5 stop words are taken out of documents, not out of queries. Each counts as a word that
# must be there: "the oak" finds nothing where "oak" finds all. Without conjunctive they do no harm. Words of the
# query are a set after stemming: "oak oak pine" has the scores of "oak pine".
# Why it matters: nearly every question that people type has a stop word, and the strict mode is empty for all of
# them: an evaluation of it ends at 0 for these topics, and the default list has 571 words, among them one, second,
# help and value.
# Source: DuckDB, extension fts, the macro match_bm25 (the number of terms found is compared with that of the query's
# tokens).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check duckdb==1.5.5 duckdb-extension-fts==1.5.5

expected='oak: the oak 0.33; an oak and a pine 0.24
oak, conjunctive := 1: the oak 0.33; an oak and a pine 0.24
the oak: the oak 0.33; an oak and a pine 0.24
the oak, conjunctive := 1: nothing
the oak and the pine: an oak and a pine 0.48; the oak 0.33; the pine 0.33
the oak and the pine, conjunctive := 1: nothing
oak pine: an oak and a pine 0.48; the oak 0.33; the pine 0.33
oak pine, conjunctive := 1: an oak and a pine 0.48
oak oak pine: an oak and a pine 0.48; the oak 0.33; the pine 0.33
oak oak pine, conjunctive := 1: an oak and a pine 0.48'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from pathlib import Path

import duckdb
import duckdb_extension_fts

(extension,) = Path(duckdb_extension_fts.__file__).parent.glob("extensions/*/fts.duckdb_extension")
base = duckdb.connect(config={"allow_unsigned_extensions": "true"})
base.load_extension(str(extension))
base.execute("create table d (id varchar, t varchar)")
texts = ["the oak", "an oak and a pine", "the pine", "stone"]
base.executemany("insert into d values (?, ?)", [[str(number), text] for number, text in enumerate(texts)])
base.execute("pragma create_fts_index($$d$$, $$id$$, $$t$$)")
for query in ("oak", "the oak", "the oak and the pine", "oak pine", "oak oak pine"):
    for option in ("", ", conjunctive := 1"):
        select = f"select t, fts_main_d.match_bm25(id, ?{option}) s from d"
        rows = base.execute(f"select t, round(s, 2) from ({select}) where s is not null order by 2 desc, 1", [query])
        print(f"{query}{option}:", "; ".join(f"{text} {score}" for text, score in rows.fetchall()) or "nothing")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
