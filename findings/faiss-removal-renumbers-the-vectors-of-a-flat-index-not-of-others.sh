#!/usr/bin/env bash
# Guess: remove_ids takes vectors out of an index, and the numbers of the others, by which documents are looked up,
# stay.
# Behaviour: in faiss-cpu 1.15.1 an IndexFlat closes the gap: after number 1 is removed, what was number 5 is found as
# 4, and every document behind the gap is taken for its neighbour. An IndexIVFFlat and an IndexIDMap around the same
# IndexFlat keep the numbers.
# Why it matters: removal is tried on a small flat index or coded for an IVF index and moved to the other; hits,
# distances and the number of vectors look right, only the documents are wrong. add_with_ids of a number that is there
# does not replace its vector either: both are found.
# Source: faiss, IndexFlatCodes.cpp (remove_ids moves the codes up).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check faiss-cpu==1.15.1 numpy==2.3.5

expected='IndexFlatL2: 0, 2, 3 and 5 are found as 0 1 2 4
IndexIVFFlat: 0, 2, 3 and 5 are found as 0 2 3 5
IndexIDMap: 0, 2, 3 and 5 are found as 0 2 3 5
IndexIDMap, 5 added again with the vector of 0: found for it 0 5; for its old one 5'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import faiss
import numpy as np

vectors = np.eye(6, dtype=np.float32)
quantizer = faiss.IndexFlatL2(6)
inverted = faiss.IndexIVFFlat(quantizer, 6, 1)
inverted.train(np.tile(vectors, (10, 1)))
mapped = faiss.IndexIDMap(faiss.IndexFlatL2(6))
for name, index in (("IndexFlatL2", faiss.IndexFlatL2(6)), ("IndexIVFFlat", inverted), ("IndexIDMap", mapped)):
    index.add_with_ids(vectors, np.arange(6)) if name == "IndexIDMap" else index.add(vectors)
    index.remove_ids(np.array([1]))
    print(f"{name}: 0, 2, 3 and 5 are found as", *index.search(vectors[[0, 2, 3, 5]], 1)[1].ravel())
mapped.add_with_ids(vectors[:1], np.array([5]))
print("IndexIDMap, 5 added again with the vector of 0: found for it", *mapped.search(vectors[:1], 2)[1].ravel(), end="")
print("; for its old one", *mapped.search(vectors[5:], 1)[1].ravel())
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
