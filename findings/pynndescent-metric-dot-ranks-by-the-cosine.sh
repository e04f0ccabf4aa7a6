#!/usr/bin/env bash
# Guess: metric="dot" finds the vectors of the largest dot product, as maximum inner product search and models trained
# for it want, and metric="cosine" those of the largest cosine.
# Behaviour: PyNNDescent 0.7.0 normalises vectors and queries with metric="dot": neighbours and distances are those of
# metric="cosine", one less the cosine, whatever the lengths. The dot product is metric="inner_product", whose distance
# is the dot product below zero; the graph of an index has each vector itself first, there with 0, which is the
# worst of its distances.
# Why it matters: embeddings whose length carries a weight (recommenders, models trained with dot products)
# lose it without a word; scores of dot from other libraries do not compare.
# Source: PyNNDescent, pynndescent_.py (_normalized_data for "dot"), documentation of metrics.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pynndescent==0.7.0 numba==0.68.1 llvmlite==0.50.0 scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6 joblib==1.6.0 \
    threadpoolctl==3.8.0 narwhals==2.29.0

expected='dot: short 0.00, middle 0.01, long 0.11
cosine: short 0.00, middle 0.01, long 0.11
inner_product: long -8.00, middle -2.00, short -1.00
graph of inner_product, short: short 0.00, long -8.00, middle -2.00
true dot products: short 1.00, middle 2.00, long 8.00'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import numpy as np
from pynndescent import NNDescent

named = {"short": [1.0, 0], "middle": [2.0, 0.3], "long": [8.0, 4.0]}
rest = [[-np.cos(angle), np.sin(angle)] for angle in np.linspace(-1, 1, 17)]
vectors = np.array([*named.values(), *rest], dtype=np.float32)
names = [*named, *("rest" for _ in rest)]
query = np.array([[1.0, 0]], dtype=np.float32)


def show(name, ids, distances):
    print(f"{name}:", ", ".join(f"{names[i]} {distance:.2f}" for i, distance in zip(ids[:3], distances + 0.0)))


for metric in ("dot", "cosine", "inner_product"):
    index = NNDescent(vectors, metric=metric, n_neighbors=10, random_state=1)
    ids, distances = index.query(query, k=3, epsilon=0.5)
    show(metric, ids[0], distances[0])
show("graph of inner_product, short", index.neighbor_graph[0][0], index.neighbor_graph[1][0])
show("true dot products", range(3), vectors[:3] @ query[0])
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
