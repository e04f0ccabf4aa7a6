#!/usr/bin/env bash
# Guess: bm25 of pyterrier-pisa weighs a word of the query by how often it is repeated, and by its weight in query_toks,
# as retrievers of Terrier and Lucene do.
# Behaviour: in pyterrier-pisa 0.4.9 every word counts once, whatever its weight: query_weighted is off unless the index
# is quantized. `oak forest forest forest`, {"oak": 1, "forest": 3} and `oak forest` give one list. Turned on, the
# weights count, and those of query_toks multiply the scores by 100 (toks_scale).
# Why it matters: an expansion of the query by RM3 or by a learned model in front of it is run as a bag of words of
# equal weight, which is worse than no expansion; long topics lose what they repeat. Nothing says so.
# Source: pyterrier_pisa/__init__.py (PisaRetrieve: query_weighted = scorer == quantized).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyterrier-pisa==0.4.9 pyterrier==1.1.2

expected='default, oak forest: oak 2.08, forest 1.67
default, oak forest forest forest: oak 2.08, forest 1.67
default, query_toks 1 3: oak 2.08, forest 1.67
query_weighted, oak forest forest forest: forest 5.02, oak 2.08
query_weighted, query_toks 1 3: forest 502.48, oak 208.09'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from tempfile import TemporaryDirectory

import pandas as pd
from pyterrier_pisa import PisaIndex

with TemporaryDirectory() as folder:
    index = PisaIndex(f"{folder}/index.pisa", stops="none", threads=1)
    texts = {"oak": "oak oak lake", "forest": "forest lake", **{f"lake{number}": "lake" for number in range(8)}}
    index.index([{"docno": name, "text": text} for name, text in texts.items()])
    words = {"query_toks": {"oak": 1.0, "forest": 3.0}}
    default, weighted = index.bm25(), index.bm25(query_weighted=True)
    for name, retriever, query in (
        ("default, oak forest", default, {"query": "oak forest"}),
        ("default, oak forest forest forest", default, {"query": "oak forest forest forest"}),
        ("default, query_toks 1 3", default, words),
        ("query_weighted, oak forest forest forest", weighted, {"query": "oak forest forest forest"}),
        ("query_weighted, query_toks 1 3", weighted, words),
    ):
        results = retriever(pd.DataFrame([{"qid": "1", **query}]))
        print(f"{name}:", ", ".join(f"{row.docno} {row.score:.2f}" for row in results.itertuples()))
EOF
) || { cat "$folder/log" >&2; exit 1; }
observed=$(grep -E '^(default|query_weighted)' <<< "$observed")
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
