#!/usr/bin/env bash
# Guess: bm25s.BM25.retrieve(k=) returns the documents that share a term with the query, at most k, as Lucene does.
# Behaviour: in bm25s 0.3.16 it returns k documents whatever they share: those of score 0 fill the list, in an order
# that follows from nothing in them, also where no term of the query is known.
# Why it matters: a run that is written from it holds documents that were not found; recall at 1000 of a small
# collection is 1, and reranking its list adds candidates without a match.
# Source: bm25s, __init__.py and selection.py (topk of the scores of all documents).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    bm25s==0.3.16 numpy==2.4.6 scipy==1.17.1

expected='query a: 1 (0.3786) 0 (0.2694) 4 (0.0) 2 (0.0)
query unknown: 4 (0.0) 3 (0.0) 2 (0.0) 1 (0.0)'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import bm25s

model = bm25s.BM25(method="lucene")
model.index([["a", "b"], ["a"], ["c"], ["d"], ["e"]], show_progress=False)
for query in ("a", "unknown"):
    documents, scores = model.retrieve([[query]], k=4, show_progress=False)
    found = zip(documents[0].tolist(), scores[0].tolist(), strict=True)
    print(f"query {query}:", *(f"{document} ({round(score, 4)})" for document, score in found))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
