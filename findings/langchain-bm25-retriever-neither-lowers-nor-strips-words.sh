#!/usr/bin/env bash
# Guess: BM25Retriever of LangChain compares words as analysers do: in lower case, without punctuation.
# Behaviour: in langchain-community 0.4.2 texts are split at white space and nothing else: `Wing?` is no `wing`. A
# query without a known word returns the last k texts, since the list is always filled; TFIDFRetriever of the same
# package lowers and strips.
# Why it matters: questions of users begin with a capital and end with a question mark: the last word, which often
# carries the meaning, never matches.
# Source: langchain_community/retrievers/bm25.py (default_preprocessing_func is text.split()) and tfidf.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    langchain-community==0.4.2 langchain-core==1.8.3 rank-bm25==0.2.2 scikit-learn==1.9.1 numpy==2.4.6

expected='BM25Retriever wing: flow over a wing
BM25Retriever Wing: fuel tank
BM25Retriever wing?: fuel tank
TFIDFRetriever wing: flow over a wing
TFIDFRetriever Wing: flow over a wing
TFIDFRetriever wing?: flow over a wing'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from langchain_community.retrievers import BM25Retriever, TFIDFRetriever

texts = ["flow over a wing", "tail rotor", "jet engine", "landing gear", "fuel tank"]
for retriever in (BM25Retriever.from_texts(texts, k=1), TFIDFRetriever.from_texts(texts, k=1)):
    for query in ("wing", "Wing", "wing?"):
        print(type(retriever).__name__, query + ":", retriever.invoke(query)[0].page_content)
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
