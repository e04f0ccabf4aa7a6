#!/usr/bin/env bash
# Guess: `match_bm25` of DuckDB has the natural logarithm in its idf, as Lucene.
# Behaviour: it has the logarithm of base 10 of Lucene's argument, and the numerator k1 + 1 that Lucene left out
# (DuckDB 1.5.5): a score is .434 of the usual one with this numerator and, where k1 is 1.2, .955 of Lucene's.
# Why it matters: the order is the same; thresholds, weights of a sum with a vector's score, and features of a model
# that was trained on other BM25 scores are not.
# Source: extension fts, indexing.cpp: log(((N - df + 0.5) / (df + 0.5)) + 1), where log is SQL's, of base 10.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check duckdb==1.5.5 duckdb-extension-fts==1.5.5

expected='0.246062: base ten 0.246062, natural 0.566580
0.204120: base ten 0.204120, natural 0.470004'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import math
from pathlib import Path

import duckdb
import duckdb_extension_fts

(extension,) = Path(duckdb_extension_fts.__file__).parent.glob("extensions/*/fts.duckdb_extension")
base = duckdb.connect()
base.execute(f"load {chr(39)}{extension}{chr(39)}")
base.execute("create table d(id varchar, t varchar)")
texts = {"a": "heat heat wing", "b": "heat ship", "c": "zebra"}
base.executemany("insert into d values (?, ?)", list(texts.items()))
base.execute("pragma create_fts_index(d, id, t)")
query = "select fts_main_d.match_bm25(id, ?) from d where id = ?"
mean = sum(len(text.split()) for text in texts.values()) / 3
for id in ("a", "b"):
    tf, length = texts[id].split().count("heat"), len(texts[id].split())
    weight = tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / mean))
    idf = 1 + (3 - 2 + 0.5) / (2 + 0.5)
    score = base.execute(query, ["heat", id]).fetchone()[0]
    print(f"{score:.6f}: base ten {math.log10(idf) * weight:.6f}, natural {math.log(idf) * weight:.6f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
