#!/usr/bin/env bash
# Guess: relevancy_threshold of LangChain's KNNRetriever is a least cosine: a query unlike all texts finds nothing.
# Behaviour: langchain-community 0.4.2 first maps the similarities of all texts to the query linearly, the lowest to 0
# and the highest to 1. The nearest text passes any threshold below 1, at a cosine of 0.1 as well, and a text of
# cosine 0.6 passes 0.7 where an opposite text is in the store, but not where it is taken out.
# Why it matters: the threshold does not keep texts that do not answer from a prompt, cannot be chosen on a collection
# and kept for another, and cuts most where matches are best.
# Source: langchain_community/retrievers/knn.py (normalized_similarities, from min and max; so in svm.py).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    langchain-community==0.4.2 langchain-core==1.8.3 numpy==2.4.6

expected='4 texts, query: east, threshold 0.7: east, north-east
4 texts, query: east, threshold 0.99: east
4 texts, query: up, a trace of east, threshold 0.7: east, north-east
4 texts, query: up, a trace of east, threshold 0.99: east
3 texts, query: east, threshold 0.7: east
3 texts, query: east, threshold 0.99: east
3 texts, query: up, a trace of east, threshold 0.7: east
3 texts, query: up, a trace of east, threshold 0.99: east'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from langchain_community.retrievers import KNNRetriever
from langchain_core.embeddings import Embeddings

vectors = {
    "east": [1.0, 0.0, 0.0],
    "north-east": [0.6, 0.8, 0.0],
    "north": [0.0, 1.0, 0.0],
    "west": [-1.0, 0.0, 0.0],
    "query: east": [1.0, 0.0, 0.0],
    "query: up, a trace of east": [0.1, 0.0, 0.995],
}


class Fixed(Embeddings):
    def embed_query(self, text):
        return vectors[text]

    def embed_documents(self, texts):
        return [vectors[text] for text in texts]


for texts in (["east", "north-east", "north", "west"], ["east", "north-east", "north"]):
    for query in ("query: east", "query: up, a trace of east"):
        for threshold in (0.7, 0.99):
            retriever = KNNRetriever.from_texts(texts, Fixed(), k=4, relevancy_threshold=threshold)
            found = [document.page_content for document in retriever.invoke(query)]
            print(f"{len(texts)} texts, {query}, threshold {threshold}: {', '.join(found)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
