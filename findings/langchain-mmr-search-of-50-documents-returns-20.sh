#!/usr/bin/env bash
# Guess: search_type="mmr" with k=50 returns 50 documents of a store that has 100, as search_type="similarity" does.
# Behaviour: in LangChain (langchain-core 1.8.3, and the stores that follow it) maximal marginal relevance chooses among
# the first fetch_k documents, 20 by default, and k does not raise it: 20 documents are returned, and nothing is said.
# At k=20 they are the nearest 20, with or without mmr: nothing was left to choose from. With fetch_k=100, k=50 is 50.
# Why it matters: the depth of candidates for a reranker, and recall at 50 or 100, end at 20 with mmr alone; comparisons
# of mmr and similarity at such depths measure fetch_k.
# Source: langchain-core, vectorstores/base.py (max_marginal_relevance_search: fetch_k=20), vectorstores/in_memory.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check langchain-core==1.8.3 numpy==2.3.5

expected='similarity k=50: 50 documents, the nearest
mmr k=50: 20 documents, the nearest
mmr k=20: 20 documents, the nearest
mmr k=50 fetch_k=100: 50 documents, the nearest'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from math import cos, sin

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore


class Angles(Embeddings):
    def embed_query(self, text):
        return [cos(float(text) / 100), sin(float(text) / 100)]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


store = InMemoryVectorStore(Angles())
store.add_documents([Document(page_content=str(number)) for number in range(100)])
for kind, options in (
    ("similarity", {"k": 50}), ("mmr", {"k": 50}), ("mmr", {"k": 20}), ("mmr", {"k": 50, "fetch_k": 100}),
):
    found = store.as_retriever(search_type=kind, search_kwargs=options).invoke("0")
    first = {document.page_content for document in found} == {str(number) for number in range(len(found))}
    print(kind, *(f"{name}={value}" for name, value in options.items()), end=": ")
    print(len(found), "documents,", "the nearest" if first else "not the nearest")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
