#!/usr/bin/env bash
# Guess: retriever_weights of QueryFusionRetriever weigh the retrievers in each mode of fusion.
# Behaviour: in llama-index-core 0.14.25 mode "reciprocal_rerank", the one that is recommended for hybrid search, does
# not read them: weights of 0.9 and 0.1, of 0.1 and 0.9 and none give the same list, and so does "simple". They count
# in "relative_score" and "dist_based_score" alone.
# Why it matters: weights of a vector and a BM25 retriever that are tuned on judged queries seem to make no difference,
# and those set to favour one are not applied; no error says so.
# Source: llama_index/core/retrievers/fusion_retriever.py (_reciprocal_rerank_fusion has no weights).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check llama-index-core==0.14.25

expected='reciprocal_rerank weights None: b d a c
reciprocal_rerank weights [0.9, 0.1]: b d a c
reciprocal_rerank weights [0.1, 0.9]: b d a c
relative_score weights None: b a c d
relative_score weights [0.9, 0.1]: a b c d
relative_score weights [0.1, 0.9]: b c a d'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, TextNode


class Fixed(BaseRetriever):
    def __init__(self, **scores):
        super().__init__()
        self.scores = scores

    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=TextNode(id_=name, text=name), score=score) for name, score in self.scores.items()]


for mode in ("reciprocal_rerank", "relative_score"):
    for weights in (None, [0.9, 0.1], [0.1, 0.9]):
        retriever = QueryFusionRetriever(
            [Fixed(a=10.0, b=8.0, d=1.0), Fixed(b=0.9, c=0.8, d=0.1)],
            llm=MockLLM(),
            mode=mode,
            num_queries=1,
            similarity_top_k=4,
            use_async=False,
            retriever_weights=weights,
        )
        print(f"{mode} weights {weights}:", *(node.text for node in retriever.retrieve("oak")))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
