#!/usr/bin/env bash
# Guess: where_document={"$contains": text} of pyseekdb, whose collections have the methods and filters of Chroma's,
# keeps the documents that contain the text, as in Chroma.
# Behaviour: pyseekdb 1.4.0.post1 makes a full text query of it. "machine learning" keeps every document with one of
# the words, in any order, and a part of a word, "learn", none. $not_contains drops every document that has one of them.
# Why it matters: with a filter that was written for Chroma answers are made of documents that do not hold the phrase,
# and $not_contains removes most of a collection for a phrase of common words. No error and no warning says so.
# Source: pyseekdb, client/filters.py and client/document_query_builder.py ($contains is a query string).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    anyio==4.16.0 certifi==2026.10.19.post1 click==8.5.1 filelock==4.3.1 flatbuffers==25.12.19 fsspec==2026.9.0 \
    h11==0.16.0 hf-xet==1.8.0 httpcore2==2.16.2 httpcore==1.0.9 httpx2==2.16.2 httpx==0.28.1 huggingface_hub==2.4.0 \
    idna==3.20 numpy==2.4.6 onnxruntime==1.32.0 packaging==26.4 protobuf==7.36.2 pylibseekdb==1.4.0.post1 \
    PyMySQL==1.2.4 pyseekdb==1.4.0.post1 PyYAML==6.0.4 tenacity==9.2.1 tokenizers==0.23.3 tqdm==4.70.1 \
    truststore==0.10.5 typing_extensions==4.16.0

expected='pyseekdb 1.4.0.post1
$contains machine learning: learning to swim, machine learning, the machine is broken
$contains learning: learning to swim, machine learning
$contains learn: 
$contains ake: 
$not_contains machine learning: a lake, relearning
$not_contains learning: a lake, relearning, the machine is broken
$not_contains learn: a lake, learning to swim, machine learning, relearning, the machine is broken
$not_contains ake: a lake, learning to swim, machine learning, relearning, the machine is broken'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import os
import tempfile
from importlib.metadata import version

import pyseekdb
from pyseekdb import HNSWConfiguration

output = os.dup(1)
os.dup2(2, 1)
os.chdir(tempfile.mkdtemp())
client = pyseekdb.Client(path=os.path.join(os.getcwd(), "data"), database="test")
configuration = HNSWConfiguration(dimension=2, distance="l2")
collection = client.create_collection("texts", configuration=configuration, embedding_function=None)
texts = ["machine learning", "the machine is broken", "learning to swim", "a lake", "relearning"]
collection.add(ids=texts, documents=texts, embeddings=[[1.0, number] for number in range(len(texts))])
lines = [f"pyseekdb {version('pyseekdb')}"]
for operator in ("$contains", "$not_contains"):
    for text in ("machine learning", "learning", "learn", "ake"):
        found = collection.get(where_document={operator: text})["ids"]
        lines.append(f"{operator} {text}: " + ", ".join(sorted(found)))
os.write(output, ("\n".join(lines) + "\n").encode())
os._exit(0)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
