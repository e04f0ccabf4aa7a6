#!/usr/bin/env bash
# Guess: of two documents that text search found with the same score, the one that vector search found, too, comes
# first.
# Behaviour: in LanceDB 0.40.0, LinearCombinationReranker adds 0.7 (1 - distance) and 0.3 BM25, as they are. A document
# that vector search did not return counts as distance 1; distances of vectors that are not of length 1 are larger, so
# that being found costs score. Document 1, first in both lists, comes behind document 3, which is in one.
# Why it matters: with the default metric, squared Euclidean distance, and unnormalised embeddings, hybrid search ranks
# what only text search found first; BM25, which has no upper bound, decides the rest.
# Source: LanceDB, lancedb/rerankers/linear_combination.py (merge_results).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lancedb==0.40.0 pyarrow==26.0.1 numpy==2.4.6

expected='vectors of length 1: document 1 0.95, document 3 0.57, document 2 0.07
vectors of other lengths: document 3 0.57, document 1 0.25, document 2 -0.63'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pyarrow as pa
from lancedb.rerankers import LinearCombinationReranker

for name, distances in (("length 1", [0.5, 0.9]), ("other lengths", [1.5, 1.9])):
    vectors = pa.table({"_rowid": pa.array([1, 2], pa.uint64()), "_distance": pa.array(distances, pa.float32())})
    texts = pa.table({"_rowid": pa.array([1, 3], pa.uint64()), "_score": pa.array([2.0, 1.9], pa.float32())})
    merged = LinearCombinationReranker().rerank_hybrid("query", vectors, texts).to_pydict()
    rows = zip(merged["_rowid"], merged["_relevance_score"])
    print(f"vectors of {name}:", ", ".join(f"document {row} {score:.2f}" for row, score in rows))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
