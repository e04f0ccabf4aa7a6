#!/usr/bin/env bash
# Guess: reciprocal rank fusion of two retrievers adds the parts of documents that have the same id.
# Behaviour: EnsembleRetriever of langchain-classic 1.0.8 and QueryFusionRetriever of llama-index-core 0.14.25 add
# those of documents with the same text: two documents become one, that is first of all. LangChain keeps the first
# one (id_key= names another key), LlamaIndex the last one, and LlamaIndex begins with 1/60 where LangChain begins
# with 1/61.
# Why it matters: templates, legal boilerplate and empty fields are the same text under many ids; the other
# documents cannot be found any more.
# Source: langchain_classic/retrievers/ensemble.py (weighted_reciprocal_rank);
# llama_index/core/retrievers/fusion_retriever.py (hash of a node).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    langchain-classic==1.0.8 langchain-core==1.8.3 llama-index-core==0.14.25

expected='LangChain 1 4 2
LlamaIndex 3 4 2, the second has 1/60.0'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, TextNode

LISTS = [[("1", "the same text"), ("2", "x")], [("4", "y"), ("3", "the same text")]]


class OfLangChain(LangChainRetriever):
    documents: list

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(page_content=text, metadata={"id": name}) for name, text in self.documents]


class OfLlamaIndex(BaseRetriever):
    def __init__(self, documents):
        self.documents = documents
        super().__init__()

    def _retrieve(self, query):
        return [NodeWithScore(node=TextNode(text=text, id_=name), score=0.5) for name, text in self.documents]


fused = EnsembleRetriever(retrievers=[OfLangChain(documents=each) for each in LISTS], weights=[0.5, 0.5]).invoke("q")
print("LangChain", *(document.metadata["id"] for document in fused))
retrievers = [OfLlamaIndex(each) for each in LISTS]
retriever = QueryFusionRetriever(
    retrievers, llm=MockLLM(), mode="reciprocal_rerank", num_queries=1, use_async=False, similarity_top_k=10
)
nodes = retriever.retrieve("q")
print("LlamaIndex", " ".join(node.node.node_id for node in nodes) + ", the second has 1/" + str(round(1 / nodes[1].score, 6)))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
