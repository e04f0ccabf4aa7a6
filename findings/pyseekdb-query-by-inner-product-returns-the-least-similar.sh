#!/usr/bin/env bash
# Guess: a collection of pyseekdb with distance="inner_product" returns the vectors of the largest inner product with
# the query, as the inner product of other vector stores does, and as its own hybrid search does.
# Behaviour: query of pyseekdb 1.4.0.post1 orders by the inner product upwards: of thirty vectors it returns the least
# similar ones, best last, and the distances that it shows are the products. hybrid_search of the same collection with
# the same vector alone returns the most similar ones.
# Why it matters: with normalised embeddings, for which the inner product is what models ask for, every list is upside
# down at the top, and an evaluation reads as a useless model. Cosine and l2 are in order.
# Source: pyseekdb, client/client_base.py (ORDER BY inner_product(...) APPROXIMATE, without DESC).

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
inner_product: query 0 1 2 (1.25 1.28 1.31), hybrid 29 28 27
cosine: query 3 4 2 (0.00 0.00 0.00), hybrid 3 4 2
l2: query 3 4 2 (0.00 0.10 0.10), hybrid 3 4 2'

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
lines = [f"pyseekdb {version('pyseekdb')}"]
query = [1.0, 0.3, 0.5]
numbers = [str(number) for number in range(30)]
for distance in ("inner_product", "cosine", "l2"):
    configuration = HNSWConfiguration(dimension=3, distance=distance)
    collection = client.create_collection(distance, configuration=configuration, embedding_function=None)
    vectors = [[1.0, number / 10, 0.5] for number in range(30)]
    collection.add(ids=numbers, documents=numbers, embeddings=vectors)
    collection.refresh_index()
    found = collection.query(query_embeddings=[query], n_results=3)
    hybrid = collection.hybrid_search(knn={"query_embeddings": [query], "n_results": 3}, n_results=3)
    values = " ".join(f"{value:.2f}" for value in found["distances"][0])
    lines.append(f"{distance}: query {' '.join(found['ids'][0])} ({values}), hybrid {' '.join(hybrid['ids'][0])}")
os.write(output, ("\n".join(lines) + "\n").encode())
os._exit(0)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
