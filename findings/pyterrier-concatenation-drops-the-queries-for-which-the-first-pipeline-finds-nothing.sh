#!/usr/bin/env bash
# Guess: first ^ second of PyTerrier puts the documents of the second pipeline below those of the first; of a query for
# which the first finds nothing, the list is that of the second.
# Behaviour: in PyTerrier 1.1.2 such a query has no list at all: the documents of the second are placed below the lowest
# score that the first gave to the query, and are joined with these scores. Queries that only the second answers are
# left out, where the sum of the pipelines and their union keep them.
# Why it matters: strict ^ lenient is the way to fall back, a phrase before words, a cached run before a new one. The
# queries that need it are those that are lost; evaluation counts them as zero, or not at all.
# Source: pyterrier, _ops.py (Concatenate: remainder.merge(last_scores, on="qid")).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyterrier==1.1.2 numpy==1.26.4 pandas==2.2.3 scipy==1.15.3

expected='lenient: query 1: word-1, query 2: word-2 word-3
strict ^ lenient: query 1: phrase-1 word-1, query 2:
strict + lenient: query 1: phrase-1 word-1, query 2: word-2 word-3
strict | lenient: query 1: phrase-1 word-1, query 2: word-2 word-3
lenient ^ strict: query 1: word-1 phrase-1, query 2: word-2 word-3'

cd "$folder"
observed=$(HOME="$folder" "$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import pandas as pd
import pyterrier as pt


def make_pipeline(rows):
    return pt.Transformer.from_df(pd.DataFrame(rows, columns=["qid", "query", "docno", "score"]))


strict = make_pipeline([("1", "oak", "phrase-1", 9.0)])
lenient = make_pipeline([("1", "oak", "word-1", 5.0), ("2", "elm", "word-2", 4.0), ("2", "elm", "word-3", 3.0)])
queries = pd.DataFrame([("1", "oak"), ("2", "elm")], columns=["qid", "query"])
pipelines = {
    "lenient": lenient,
    "strict ^ lenient": strict ^ lenient,
    "strict + lenient": strict + lenient,
    "strict | lenient": strict | lenient,
    "lenient ^ strict": lenient ^ strict,
}
for name, pipeline in pipelines.items():
    found = pipeline(queries)
    lists = (f"query {query}: {' '.join(found.docno[found.qid == query])}" for query in ("1", "2"))
    print(f"{name}: {', '.join(lists)}".rstrip())
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
