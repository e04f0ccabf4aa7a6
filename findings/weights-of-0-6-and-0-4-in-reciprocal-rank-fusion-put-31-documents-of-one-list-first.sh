#!/usr/bin/env bash
# Guess: weights=[0.6, 0.4] of LangChain's EnsembleRetriever, and of Haystack's DocumentJoiner with
# reciprocal_rank_fusion, mix the lists about six to four: of the first ten documents some are those of the second
# retriever.
# Behaviour: where the lists share no document, the first of the second list is at rank 32 (langchain-classic 1.0.8,
# haystack-ai 3.4.1). A weight multiplies 1 / (60 + rank), which is nearly flat: 0.6 / 91 is still above 0.4 / 61.
# With 0.51 and 0.49 it is at rank 4, with 0.55 and 0.45 at rank 15, with 0.9 and 0.1 at rank 490. Only equal weights
# take turns.
# Why it matters: weights of hybrid search are tried in steps of 0.1, and all steps but 0.5 switch one retriever off
# in the top ten, but for documents that both found.
# Source: langchain-classic, retrievers/ensemble.py (weighted_reciprocal_rank); Haystack,
# components/joiners/document_joiner.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    langchain-classic==1.0.8 langchain-core==1.8.3 haystack-ai==3.4.1

expected='weights 0.5 and 0.5, rank of the first of the second list: LangChain 2, Haystack 2
weights 0.51 and 0.49, rank of the first of the second list: LangChain 4, Haystack 4
weights 0.55 and 0.45, rank of the first of the second list: LangChain 15, Haystack 15
weights 0.6 and 0.4, rank of the first of the second list: LangChain 32, Haystack 32
weights 0.9 and 0.1, rank of the first of the second list: LangChain 490, Haystack 490'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from haystack import Document as HaystackDocument
from haystack.components.joiners import DocumentJoiner
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class Ranking(BaseRetriever):
    names: list

    def _get_relevant_documents(self, query, *, run_manager=None):
        return [Document(page_content=name) for name in self.names]


lists = [[f"{name}{rank}" for rank in range(500)] for name in "ab"]
for weights in ([0.5, 0.5], [0.51, 0.49], [0.55, 0.45], [0.6, 0.4], [0.9, 0.1]):
    ensemble = EnsembleRetriever(retrievers=[Ranking(names=names) for names in lists], weights=weights)
    langchain = [document.page_content for document in ensemble.invoke("query")]
    joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", weights=weights)
    inputs = [[HaystackDocument(id=name, content=name, score=1.0) for name in names] for names in lists]
    haystack = [document.id for document in joiner.run(inputs)["documents"]]
    ranks = f"LangChain {langchain.index('b0') + 1}, Haystack {haystack.index('b0') + 1}"
    print(f"weights {weights[0]} and {weights[1]}, rank of the first of the second list: {ranks}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
