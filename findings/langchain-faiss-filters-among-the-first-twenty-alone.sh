#!/usr/bin/env bash
# Guess: similarity_search(query, k=5, filter={"year": 2001}) of LangChain's FAISS store returns the five nearest
# texts of that year.
# Behaviour: in langchain-community 0.4.2 the store takes the 20 nearest texts (fetch_k), and then those of them that
# pass the filter. Where 30 texts of another year are nearer, the answer is empty, although 70 texts pass; some
# answers are short, nothing says why. InMemoryVectorStore of langchain-core 1.8.3, with the same arguments but for a
# function as filter, filters first.
# Why it matters: a filter by tenant, language, date or source is strictest where the nearest texts are of another
# kind; recall then falls to 0 for some queries, and an evaluation blames the encoder. A larger k does not help until
# it passes fetch_k.
# Source: langchain-community, vectorstores/faiss.py (similarity_search_with_score_by_vector: fetch_k=20, filter after
# the search).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    langchain-community==0.4.2 langchain-core==1.8.3 faiss-cpu==1.15.1 numpy==2.3.5

expected='10 of another year nearer, 90 pass: FAISS returns 5, in memory 5
18 of another year nearer, 82 pass: FAISS returns 2, in memory 5
30 of another year nearer, 70 pass: FAISS returns 0, in memory 5'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from math import cos, sin

from langchain_community.vectorstores import FAISS
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore


class Angles(Embeddings):
    """A text is an angle in degrees."""

    def embed_query(self, text):
        return [cos(float(text) / 57.3), sin(float(text) / 57.3)]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


for nearer in (10, 18, 30):
    texts = [str(number) for number in range(100)]
    years = [{"year": 2000 if number < nearer else 2001} for number in range(100)]
    faiss = FAISS.from_texts(texts, Angles(), metadatas=years)
    memory = InMemoryVectorStore.from_texts(texts, Angles(), metadatas=years)
    found = faiss.similarity_search("0", k=5, filter={"year": 2001})
    other = memory.similarity_search("0", k=5, filter=lambda document: document.metadata["year"] == 2001)
    print(f"{nearer} of another year nearer, {100 - nearer} pass: FAISS returns {len(found)}, in memory {len(other)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
