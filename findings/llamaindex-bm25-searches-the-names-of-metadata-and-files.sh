#!/usr/bin/env bash
# Guess: BM25Retriever of LlamaIndex searches the texts of the nodes, and returns those that have a word of the query.
# Behaviour: in llama-index-retrievers-bm25 0.8.0 the text of a node is that with its metadata in front, names and
# values: the query "author" finds every node that has an author, "report" one whose file is called so, and the words
# of the metadata count for the length. Nodes without a word of the query fill the list with a score of 0.
# Why it matters: titles, tags, authors and paths that are attached for filters are searched, their names in every
# node; they lengthen short chunks most. excluded_embed_metadata_keys, which is about embeddings by its name, takes
# metadata out here, too.
# Source: llama-index-retrievers-bm25, base.py (node.get_content(metadata_mode=MetadataMode.EMBED)).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    llama-index-retrievers-bm25==0.8.0 llama-index-core==0.14.25 bm25s==0.3.16 numpy==2.3.5

expected='metadata as it is, author: c 0.42 of 4
metadata as it is, pine: b 0.33, a 0.21 of 4
metadata as it is, oak: c 0.24, a 0.21 of 4
metadata excluded, author: nothing of 4
metadata excluded, pine: b 0.45 of 4
metadata excluded, oak: a 0.45 of 4'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever

for excluded in ([], ["author", "file_name"]):
    nodes = [
        TextNode(text="oak tree", id_="a", metadata={"file_name": "pine report"}),
        TextNode(text="pine wood", id_="b"),
        TextNode(text="stone wall", id_="c", metadata={"author": "Oak"}),
        TextNode(text="river", id_="d"),
    ]
    for node in nodes:
        node.excluded_embed_metadata_keys = excluded
    retriever = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=4)
    for query in ("author", "pine", "oak"):
        hits = retriever.retrieve(query)
        found = [f"{hit.node.node_id} {hit.score:.2f}" for hit in hits if hit.score > 0]
        metadata = "excluded" if excluded else "as it is"
        print(f"metadata {metadata}, {query}:", ", ".join(found) or "nothing", f"of {len(hits)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
