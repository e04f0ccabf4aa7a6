#!/usr/bin/env bash
# Guess: upsert of Chroma puts a new version of a document in the place of the old one, as writing a point or an object
# again does in Qdrant, Pinecone and Weaviate: what the new metadata do not name is gone.
# Behaviour: chromadb 1.5.9 merges the new metadata into the old ones, and keeps the old text where none is given. A
# document that was a draft is still found by the filter for drafts, and one that got another vector has the old text.
# Why it matters: an index that is kept up to date by upsert finds documents by what they no longer are, and differs
# from one that is built anew from the same files; filters by date, tenant or state are what such metadata are for.
# Source: Chroma, rust/segment/src/sqlite_metadata.rs (how an upsert of a record that is there writes its metadata).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-compile \
    chromadb==1.5.9

expected='upsert: year 2021, state draft
found as a draft: note
upsert of a vector alone: second version
deleted and added: year 2021
found as a draft:'

cd "$folder"
observed=$(HOME="$folder" ANONYMIZED_TELEMETRY=False "$folder/venv/bin/python" -W ignore - <<'EOF'
import chromadb

notes = chromadb.EphemeralClient().create_collection("notes")
draft = {"documents": ["first version"], "embeddings": [[1, 0]], "metadatas": [{"state": "draft", "year": 2020}]}
final = {"documents": ["second version"], "embeddings": [[1, 0]], "metadatas": [{"year": 2021}]}


def show(name):
    (metadata,) = notes.get()["metadatas"]
    print(f"{name}:", ", ".join(f"{key} {metadata[key]}" for key in sorted(metadata, reverse=True)))
    print("found as a draft:", *notes.query(query_embeddings=[[1, 0]], where={"state": "draft"})["ids"][0])


notes.add(ids=["note"], **draft)
notes.upsert(ids=["note"], **final)
show("upsert")
notes.upsert(ids=["note"], embeddings=[[0, 1]])
print("upsert of a vector alone:", *notes.get()["documents"])
notes.delete(ids=["note"])
notes.add(ids=["note"], **final)
show("deleted and added")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
