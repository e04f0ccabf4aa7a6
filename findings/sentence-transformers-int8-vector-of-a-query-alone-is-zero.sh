#!/usr/bin/env bash
# Guess: quantize_embeddings(precision="int8") of the vector of a query gives the codes that belong to those of the
# documents, as the same function made them; "uint8" differs by a constant.
# Behaviour: in sentence-transformers 5.1.2 each call takes the range of what it is given. A query alone has no range:
# all its codes are 0, and all documents equal. Queries eight by eight find .6 of their ten neighbours, 200 at once .8,
# as with the range of the documents. uint8 finds .04 even so: inner products of codes from 0 to 255 mostly measure the
# mean of a document's codes. A line in the log says that int8 "is more stable" with more embeddings.
# Why it matters: queries come one by one, and the evaluation, which encodes them together, has good figures.
# Source: sentence_transformers/quantization.py (quantize_embeddings: ranges of `embeddings` where none are given).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    sentence-transformers==5.1.2 transformers==4.57.6 torch==2.13.0 numpy==1.26.4 scipy==1.15.3 scikit-learn==1.5.2

expected='codes of a query alone: 0
int8, queries encoded by 1: 0.01 of the neighbours found
int8, queries encoded by 8: 0.60 of the neighbours found
int8, queries encoded by 200: 0.80 of the neighbours found
int8, range of the documents: 0.81
uint8, range of the documents: 0.04'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2>/dev/null <<'EOF'
import numpy as np
from sentence_transformers.quantization import quantize_embeddings

random = np.random.default_rng(0)
subjects = random.normal(size=(50, 32))


def vectors(number):
    found = subjects[random.integers(0, 50, number)] + 0.8 * random.normal(size=(number, 32))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


documents, queries = vectors(2000), vectors(200)
nearest = np.argsort(-(queries @ documents.T), axis=1)[:, :10]


def found_of_ten(precision, size, ranges=None):
    codes = [quantize_embeddings(queries[first : first + size], precision, ranges=ranges)
             for first in range(0, 200, size)]
    products = np.concatenate(codes).astype(int) @ quantize_embeddings(documents, precision).T.astype(int)
    found = np.argsort(-products, axis=1, kind="stable")[:, :10]
    return f"{np.mean([len(np.intersect1d(*pair)) / 10 for pair in zip(found, nearest)]):.2f}"


print("codes of a query alone:", *np.unique(quantize_embeddings(queries[:1], "int8")))
for size in (1, 8, 200):
    print(f"int8, queries encoded by {size}: {found_of_ten('int8', size)} of the neighbours found")
of_documents = np.vstack([documents.min(axis=0), documents.max(axis=0)])
print("int8, range of the documents:", found_of_ten("int8", 1, of_documents))
print("uint8, range of the documents:", found_of_ten("uint8", 200, of_documents))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
