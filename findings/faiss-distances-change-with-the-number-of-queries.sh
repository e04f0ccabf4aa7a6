#!/usr/bin/env bash
# Guess: IndexFlatL2 is exact: what it returns for a query does not depend on which others are searched with it.
# Behaviour: in faiss-cpu 1.15.1 a large batch is computed as |x|^2 + |y|^2 - 2xy, in single precision. One query at a
# time finds itself at distance 0 and its neighbours at distinct ones; among 1000 queries, the distances below are
# rounded to steps of 0.25, as the norms are large, many vectors are not at 0 from themselves, neighbours tie, and
# nearly all lists of 20 change.
# Why it matters: the lists of a service (one query) are not those of an evaluation (all queries), duplicates are not
# found by a distance of 0, and no threshold holds for both. Less the mean of all vectors, the lists are equal.
# Source: faiss, utils/distances.cpp (knn_L2sqr: exhaustive_L2sqr_blas from distance_compute_blas_threshold on).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    faiss-cpu==1.15.1 numpy==1.26.4

expected='as they are, alone: each is at distance 0 from itself: True
as they are, together: each is at distance 0 from itself: False
as they are: lists of 20 that change: most
less their mean, alone: each is at distance 0 from itself: True
less their mean, together: each is at distance 0 from itself: False
less their mean: lists of 20 that change: hardly any'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import faiss
import numpy as np

random = np.random.default_rng(0)
vectors = (random.normal(size=(5000, 128)) + 100).astype("float32")


def search(vectors, size):
    index = faiss.IndexFlatL2(128)
    index.add(vectors)
    found = [index.search(vectors[first : first + size], 20) for first in range(0, 1000, size)]
    return (np.concatenate(parts) for parts in zip(*found))


for name, values in (("as they are", vectors), ("less their mean", vectors - vectors.mean(axis=0))):
    (alone, ids), (together, ids_together) = search(values, 1), search(values, 1000)
    print(f"{name}, alone: each is at distance 0 from itself: {not alone[:, 0].any()}")
    print(f"{name}, together: each is at distance 0 from itself: {not together[:, 0].any()}")
    changed = (ids != ids_together).any(axis=1).mean()
    print(f"{name}: lists of 20 that change: {'most' if changed > 0.5 else 'few' if changed > 0.01 else 'hardly any'}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
