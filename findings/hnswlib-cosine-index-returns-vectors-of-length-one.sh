#!/usr/bin/env bash
# Guess: `get_items` returns the vectors that were added.
# Behaviour: an index of the space cosine keeps them divided by their length and returns these (hnswlib 0.8.0); one of
# l2 or ip returns them as they were.
# Why it matters: a second stage that takes the vectors from the index, to score by inner product (as encoders trained
# with it want) or to make an index of another space, has lost what the lengths said; the order is another one.
# Source: hnswlib/python_bindings/bindings.cpp: normalize_vector in addItems; getData does not undo it.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check hnswlib==0.8.0 numpy==2.3.4

expected='l2     second vector [3.0, 4.0], best inner product: 1
ip     second vector [3.0, 4.0], best inner product: 1
cosine second vector [0.6000000238418579, 0.800000011920929], best inner product: 0'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import hnswlib
import numpy as np

vectors = np.array([[1.0, 0.0], [3.0, 4.0], [0.5, 0.5]], dtype=np.float32)
for space in ("l2", "ip", "cosine"):
    index = hnswlib.Index(space=space, dim=2)
    index.init_index(10)
    index.add_items(vectors)
    back = np.array(index.get_items([0, 1, 2]))
    best = int(np.argmax(back @ np.array([1.0, 0.2], dtype=np.float32)))
    print(f"{space:6} second vector {back[1].round(2).tolist()}, best inner product: {best}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
