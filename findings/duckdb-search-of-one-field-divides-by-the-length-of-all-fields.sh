#!/usr/bin/env bash
# Guess: match_bm25(id, query, fields := 'title') of DuckDB's full-text extension scores the titles as an index of the
# titles alone does: two documents with the same title tie.
# Behaviour: in DuckDB 1.5.5 the length of a document and the mean length are those of all indexed fields, and so is the
# number of documents that have a word: of two documents with the title "oak" the one with the longer body has the
# lower score, below a title of four words that has no body. A word that stands in bodies only lowers the idf of titles.
# Why it matters: a search of titles is a ranking by the length of the texts, mostly; features per field (a BM25 of the
# title, one of the body) that are taken from one index depend on each other. An index of each field alone has them.
# Source: duckdb-fts, fts_indexing.cpp (docs.len counts the terms of all fields; dict.df is not by field).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check duckdb==1.5.5 duckdb-extension-fts==1.5.5

expected='both fields indexed, title searched: short body 0.349; no body 0.312; long body 0.105
title indexed: long body 0.277; short body 0.277; no body 0.145
oak in another body, title searched: short body 0.186; no body 0.166; long body 0.056'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pathlib import Path

import duckdb
import duckdb_extension_fts

(extension,) = Path(duckdb_extension_fts.__file__).parent.glob("extensions/*/fts.duckdb_extension")
base = duckdb.connect(config={"allow_unsigned_extensions": "true"})
base.load_extension(str(extension))
base.execute("create table d (id varchar, title varchar, body varchar)")
documents = [
    ["long body", "oak", "sea hill wall stone " * 10],
    ["short body", "oak", "sea"],
    ["no body", "oak pine elm yew", ""],
    ["other", "fir", "river"],
    ["another", "ash", "river"],
]
base.executemany("insert into d values (?, ?, ?)", documents)


def show(name, fields, option):
    base.execute(f"pragma create_fts_index($$d$$, $$id$$, {fields}, overwrite = 1)")
    select = f"select id, fts_main_d.match_bm25(id, $$oak$$ {option}) score from d"
    rows = base.execute(f"select id, round(score, 3) from ({select}) where score is not null order by 2 desc, 1")
    print(f"{name}:", "; ".join(f"{document} {score}" for document, score in rows.fetchall()))


show("both fields indexed, title searched", "$$title$$, $$body$$", ", fields := $$title$$")
show("title indexed", "$$title$$", "")
base.execute("update d set body = $$oak$$ where title = $$fir$$")
show("oak in another body, title searched", "$$title$$, $$body$$", ", fields := $$title$$")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
