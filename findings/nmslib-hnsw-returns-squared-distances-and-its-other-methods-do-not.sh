#!/usr/bin/env bash
# Guess: the space l2 is the Euclidean distance: an index that is approximate returns the same distances as the exact
# one for the vectors that both find.
# Behaviour: nmslib (nmslib-metabrainz 2.1.3) returns squared distances from method hnsw with space l2, and distances
# from brute_force, sw-graph, getDistance of the same hnsw index, and from hnsw too once it is built with
# skip_optimized_index=1. Nothing says which it was; the order is the same.
# Why it matters: a radius or cutoff that was found with brute force, a similarity made of the distance (1/(1+d)), or a
# sum of distances of several indexes changes its meaning with the method or an option of its construction.
# Source: nmslib, method/hnsw.cc (the optimised index for l2 calls the distance without the root).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    nmslib-metabrainz==2.1.3 numpy==2.4.6 psutil==7.2.2 pybind11==3.1.0

expected='brute_force: near 0.50, middle 3.00, far 10.00
sw-graph: near 0.50, middle 3.00, far 10.00
hnsw: near 0.25, middle 9.00, far 100.00
hnsw, skip_optimized_index=1: near 0.50, middle 3.00, far 10.00
getDistance(near, middle) of each: 2.50 2.50 2.50 2.50'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import nmslib
import numpy as np

names = ["near", "middle", "far"]
vectors = np.array([[0.5, 0, 0, 0], [3, 0, 0, 0], [10, 0, 0, 0]], dtype=np.float32)
between = []
for method, options in (("brute_force", {}), ("sw-graph", {}), ("hnsw", {}), ("hnsw", {"skip_optimized_index": 1})):
    index = nmslib.init(method=method, space="l2")
    index.addDataPointBatch(vectors)
    index.createIndex(options)
    ids, distances = index.knnQuery(np.zeros(4, dtype=np.float32), k=3)
    name = ", ".join([method, *(f"{key}={value}" for key, value in options.items())])
    print(f"{name}:", ", ".join(f"{names[i]} {distance:.2f}" for i, distance in zip(ids, distances)))
    between.append(f"{index.getDistance(0, 1):.2f}")
print("getDistance(near, middle) of each:", *between)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
