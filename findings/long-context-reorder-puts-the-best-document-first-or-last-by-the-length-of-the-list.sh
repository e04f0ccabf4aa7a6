#!/usr/bin/env bash
# Guess: LongContextReorder of LangChain and of LlamaIndex put the best document first, the second one last, and so on
# to the middle, where models read least.
# Behaviour: which end the best document has depends on whether the number of documents is even (langchain-community
# 0.4.2, llama-index-core 0.14.25): of seven documents it is the first, of six the last, and the second best is first
# then. LostInTheMiddleRanker of haystack-ai 3.4.1 puts it first always.
# Why it matters: filters and thresholds change the number from query to query, so that a prompt begins with the best
# document or the second one by chance. A measure of the list (RR, nDCG) that is taken after this step goes up and
# down with the parity, and so does what the first citation is.
# Source: langchain-community, document_transformers/long_context_reorder.py (_litm_reordering: from the worst
# document on, in turn to the front and the end); llama-index-core, postprocessor/node.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    langchain-community==0.4.2 langchain-core==1.8.3 llama-index-core==0.14.25 haystack-ai==3.4.1 numpy==2.3.5

expected='LangChain 1 3 5 4 2; LlamaIndex 1 3 5 4 2; Haystack 1 3 5 4 2
LangChain 2 4 6 5 3 1; LlamaIndex 2 4 6 5 3 1; Haystack 1 3 5 6 4 2
LangChain 1 3 5 7 6 4 2; LlamaIndex 1 3 5 7 6 4 2; Haystack 1 3 5 7 6 4 2
LangChain 2 4 6 8 7 5 3 1; LlamaIndex 2 4 6 8 7 5 3 1; Haystack 1 3 5 7 8 6 4 2'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from haystack import Document as HaystackDocument
from haystack.components.rankers import LostInTheMiddleRanker
from langchain_community.document_transformers import LongContextReorder
from langchain_core.documents import Document
from llama_index.core.postprocessor import LongContextReorder as LlamaIndexReorder
from llama_index.core.schema import NodeWithScore, TextNode

for number in (5, 6, 7, 8):
    names = [str(rank) for rank in range(1, number + 1)]
    langchain = LongContextReorder().transform_documents([Document(page_content=name) for name in names])
    nodes = [NodeWithScore(node=TextNode(text=name), score=1 / int(name)) for name in names]
    llamaindex = LlamaIndexReorder().postprocess_nodes(nodes)
    haystack = LostInTheMiddleRanker().run([HaystackDocument(content=name) for name in names])["documents"]
    print("LangChain", *(document.page_content for document in langchain), end="; ")
    print("LlamaIndex", *(hit.node.text for hit in llamaindex), end="; ")
    print("Haystack", *(document.content for document in haystack))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
