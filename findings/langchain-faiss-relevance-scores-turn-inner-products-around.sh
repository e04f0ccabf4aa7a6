#!/usr/bin/env bash
# Guess: similarity_search_with_relevance_scores of LangChain's FAISS store gives what its text says, 0 for unlike to
# 1 for like, and score_threshold keeps the best.
# Behaviour: in langchain-community 0.4.2 with MAX_INNER_PRODUCT, the nearest vector (cosine 1) has relevance 0, the
# opposite one 1, and a threshold keeps only what is opposite. With the default, the squared distance of FAISS is put
# where the formula has the distance: cosine 0.6 has .43, an orthogonal vector -.41, an opposite one -1.83. With
# COSINE, it is 0.2, -1 and -3.
# Why it matters: a threshold that was chosen as a cosine drops texts that are near, and with inner products all of
# them but the worst; evaluations of retrievers of type similarity_score_threshold measure this.
# Source: langchain_core/vectorstores/base.py (_max_inner_product_relevance_score_fn: 1 - distance;
# _euclidean_relevance_score_fn); langchain_community/vectorstores/faiss.py (IndexFlatIP, IndexFlatL2).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    langchain-community==0.4.2 langchain-core==1.8.3 faiss-cpu==1.15.1 numpy==2.4.6

expected='MAX_INNER_PRODUCT: same 0.00, near 0.40, orthogonal 0.00, opposite 1.00
MAX_INNER_PRODUCT, threshold 0.5: opposite
EUCLIDEAN_DISTANCE: same 1.00, near 0.43, orthogonal -0.41, opposite -1.83
EUCLIDEAN_DISTANCE, threshold 0.5: same
COSINE: same 1.00, near 0.20, orthogonal -1.00, opposite -3.00
COSINE, threshold 0.5: same'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from langchain_community.vectorstores import FAISS
from langchain_community.vectorstores.utils import DistanceStrategy
from langchain_core.embeddings import Embeddings

vectors = {"same": [1.0, 0.0], "near": [0.6, 0.8], "orthogonal": [0.0, 1.0], "opposite": [-1.0, 0.0]}


class Fixed(Embeddings):
    def embed_query(self, text):
        return vectors["same"]

    def embed_documents(self, texts):
        return [vectors[text] for text in texts]


texts = ["same", "near", "orthogonal", "opposite"]
for strategy in (DistanceStrategy.MAX_INNER_PRODUCT, DistanceStrategy.EUCLIDEAN_DISTANCE, DistanceStrategy.COSINE):
    store = FAISS.from_texts(texts, Fixed(), distance_strategy=strategy)
    found = store.similarity_search_with_relevance_scores("query", 4)
    values = ", ".join(f"{document.page_content} {score + 1e-9:.2f}" for document, score in found)
    print(f"{strategy.name}: {values}")
    kept = store.similarity_search_with_relevance_scores("query", 4, score_threshold=0.5)
    print(f"{strategy.name}, threshold 0.5: {', '.join(document.page_content for document, _ in kept)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
