#!/usr/bin/env bash
# Guess: a search with metric BM25 has scores above 0, the best the highest, in Milvus Lite as in Milvus; radius keeps
# the hits above it.
# Behaviour: search of milvus-lite 3.2.2 returns BM25 with its sign turned: the best hit is the lowest number, and
# radius=0.5, which should keep two hits, keeps all three. A hybrid search of the same collection returns the scores
# with their sign.
# Why it matters: code that is tried out on the file and run on the server has a threshold that does nothing in the
# first, and one who sorts, adds or normalises the scores of a run gets the worst document first.
# Source: pymilvus 3.0.2 and milvus-lite 3.2.2, observed; Milvus documentation, "Full Text Search" (scores above 0).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pymilvus==3.0.2 milvus-lite==3.2.2

expected='search: often -1.12, once -0.86, long -0.41
search, radius 0.5: often -1.12, once -0.86, long -0.41
hybrid search: often 1.12, once 0.86, long 0.41'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pymilvus import AnnSearchRequest, DataType, Function, FunctionType, MilvusClient, WeightedRanker

client = MilvusClient("texts.db")
schema = client.create_schema(auto_id=False)
schema.add_field("id", DataType.VARCHAR, max_length=20, is_primary=True)
schema.add_field("text", DataType.VARCHAR, max_length=200, enable_analyzer=True)
schema.add_field("words", DataType.SPARSE_FLOAT_VECTOR)
bm25 = Function(name="bm25", input_field_names="text", output_field_names="words", function_type=FunctionType.BM25)
schema.add_function(bm25)
parameters = client.prepare_index_params()
parameters.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
client.create_collection("texts", schema=schema, index_params=parameters)
texts = {
    "once": "oak forest",
    "often": "oak oak oak table",
    "long": "pine tree with an oak and many more words",
    "pine": "pine tree",
    "fir": "fir tree",
    "elm": "elm tree",
}
client.insert("texts", [{"id": name, "text": text} for name, text in texts.items()])


def show(name, hits):
    print(f"{name}:", ", ".join(f"{hit['id']} {hit['distance']:.2f}" for hit in hits[0]))


options = {"anns_field": "words", "limit": 5}
show("search", client.search("texts", data=["oak"], **options))
show("search, radius 0.5", client.search("texts", data=["oak"], search_params={"params": {"radius": 0.5}}, **options))
request = AnnSearchRequest(["oak"], "words", {"metric_type": "BM25"}, limit=5)
ranker = WeightedRanker(1.0, norm_score=False)
show("hybrid search", client.hybrid_search("texts", [request], ranker, limit=5))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
