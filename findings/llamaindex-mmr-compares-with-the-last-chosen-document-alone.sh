#!/usr/bin/env bash
# Guess: maximal marginal relevance lowers a document by its largest similarity to any document that is chosen, as
# Carbonell and Goldstein define it; a copy of the first result comes last.
# Behaviour: llama-index-core 0.14.25 subtracts the similarity to the document chosen just before. Once another stands
# between, a copy of the first result counts as new: with near copies of two texts, the list goes from one to the other
# and back. LangChain 1.8.3 takes the largest similarity to all.
# Why it matters: mode "mmr" of the vector stores is used to have other texts in a prompt; from the third place on, it
# brings back the same ones.
# Source: llama_index/core/indices/query/embedding_utils.py (get_top_k_mmr_embeddings: overlap_with_recent);
# langchain_core/vectorstores/utils.py (maximal_marginal_relevance).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    llama-index-core==0.14.25 langchain-core==1.8.3 numpy==2.4.6

expected='llamaindex: oak pine copy of oak copy of pine fir
langchain: oak pine fir copy of oak copy of pine'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from langchain_core.vectorstores.utils import maximal_marginal_relevance
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings

query = [1.0, 0.9, 0.5, 0.0]
vectors = {
    "oak": [1.0, 0.0, 0.0, 0.0],
    "copy of oak": [1.0, 0.0, 0.0, 0.1],
    "pine": [0.0, 1.0, 0.0, 0.0],
    "copy of pine": [0.0, 1.0, 0.0, 0.1],
    "fir": [0.0, 0.0, 1.0, 0.0],
}
_, chosen = get_top_k_mmr_embeddings(
    query, list(vectors.values()), similarity_top_k=5, embedding_ids=list(vectors), mmr_threshold=0.5
)
print("llamaindex:", *chosen)
places = maximal_marginal_relevance(np.array(query), list(vectors.values()), lambda_mult=0.5, k=5)
print("langchain:", *(list(vectors)[place] for place in places))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
