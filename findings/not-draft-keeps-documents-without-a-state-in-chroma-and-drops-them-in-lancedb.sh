#!/usr/bin/env bash
# Guess: a filter that excludes a value, state is not draft, keeps all documents but the drafts; or all stores treat a
# document without a state alike.
# Behaviour: Chroma 1.5.9 ($ne and $nin) and must_not of Qdrant (client 1.20.0, local) keep the documents without the
# key. LanceDB 0.40.0 compares as SQL does, and drops them with != and NOT IN; Qdrant's MatchExcept drops them too, and
# keeps a document of two states, draft and old, which must_not drops.
# Why it matters: the key is mostly missing on what was written before it was introduced: moved from one store to
# another, or from one form of the filter to the other, the same words find none of the old texts or all of them.
# Source: Chroma, rust/segment and its documentation of metadata filters; Qdrant, documentation of filtering (Except);
# LanceDB, documentation of filtering with SQL (IS NULL).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    chromadb==1.5.9 qdrant-client==1.20.0 lancedb==0.40.0 pyarrow==26.0.1 numpy==2.4.6

expected='Chroma $ne: final, no state
Chroma $nin: final, no state
Qdrant must_not: final, no state
Qdrant MatchExcept: final, draft and old
LanceDB !=: final
LanceDB NOT IN: final
LanceDB != OR IS NULL: final, no state'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import chromadb
import lancedb
from qdrant_client import QdrantClient, models

states = {"draft": "draft", "final": "final", "no state": None}
collection = chromadb.EphemeralClient().create_collection("texts", embedding_function=None)
table = []
for name, state in states.items():
    entry = {"state": state} if state is not None else {"year": 2020}
    collection.add(ids=[name], embeddings=[[1, 0]], metadatas=[entry])
    table.append({"name": name, "state": state, "vector": [1.0, 0.0]})
for operator, value in (("$ne", "draft"), ("$nin", ["draft"])):
    print(f"Chroma {operator}:", ", ".join(collection.get(where={"state": {operator: value}})["ids"]))

client = QdrantClient(":memory:")
client.create_collection("texts", models.VectorParams(size=2, distance=models.Distance.DOT))
for number, (name, state) in enumerate({**states, "draft and old": ["draft", "old"]}.items()):
    payload = {"name": name} if state is None else {"name": name, "state": state}
    client.upsert("texts", [models.PointStruct(id=number, vector=[1.0, 0.0], payload=payload)])
filters = {
    "must_not": models.Filter(must_not=[models.FieldCondition(key="state", match=models.MatchValue(value="draft"))]),
    "MatchExcept": models.Filter(
        must=[models.FieldCondition(key="state", match=models.MatchExcept(**{"except": ["draft"]}))]
    ),
}
for name, chosen in filters.items():
    points, _ = client.scroll("texts", scroll_filter=chosen)
    print(f"Qdrant {name}:", ", ".join(point.payload["name"] for point in points))

texts = lancedb.connect("tables").create_table("texts", table)
clauses = {"!=": "state != 'draft'", "NOT IN": "state NOT IN ('draft')"}
clauses["!= OR IS NULL"] = "state != 'draft' OR state IS NULL"
for name, clause in clauses.items():
    print(f"LanceDB {name}:", ", ".join(row["name"] for row in texts.search().where(clause).to_list()))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
