#!/usr/bin/env bash
# Guess: an index of USearch keeps float32 vectors as they are given, as those of faiss and hnswlib do; a search with
# exact=True returns the true neighbours.
# Behaviour: in usearch 2.26.6 the default dtype is bf16, with 8 bits of precision: vectors that differ by less are
# one vector. Of 200 vectors near to each other, as embeddings of one topic are, exact search finds few by themselves
# first; with dtype="f32" it finds all. get() returns rounded values.
# Why it matters: recall that is measured against exact=True of the same index does not show it, as both are rounded;
# where embeddings have a large common part, as many encoders' have, the order among the nearest is noise.
# Source: usearch, python/usearch/index.py (dtype None becomes BF16).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check usearch==2.26.6 numpy==2.3.5

expected='dtype by default: found by themselves less than half, returned as they were: False
dtype f32: found by themselves all, returned as they were: True'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from usearch.index import Index

random = np.random.default_rng(0)
vectors = (1 + 0.0005 * random.normal(size=(200, 64))).astype(np.float32)
for options in ({}, {"dtype": "f32"}):
    index = Index(ndim=64, metric="l2sq", **options)
    index.add(np.arange(200), vectors)
    first = np.array([index.search(vector, 1, exact=True).keys[0] for vector in vectors])
    found = (first == np.arange(200)).mean()
    share = "all" if found == 1 else "less than half" if found < 0.5 else "more than half"
    kept = np.array_equal(index.get(0), vectors[0])
    print(f"dtype {options.get('dtype', 'by default')}: found by themselves {share}, returned as they were: {kept}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
