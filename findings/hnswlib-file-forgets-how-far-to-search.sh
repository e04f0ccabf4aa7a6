#!/usr/bin/env bash
# Guess: an index that is loaded from its file returns the neighbours that it returned before it was saved.
# Behaviour: hnswlib 0.8.0 writes no ef, the length of the list of candidates of a search: a loaded index has the
# default of 10 again, whatever set_ef was given. Here, recall of the nearest ten falls from 1.00 to below 0.7. A
# pickled index keeps ef.
# Why it matters: an offline evaluation in the process that built the index does not hold for the service that loads
# it, and the speed of the service looks better, too.
# Source: hnswlib, README.md (set_ef: "not saved along with the index"); hnswalg.h (saveIndex).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    hnswlib==0.8.0 numpy==1.26.4

expected='built: ef 300, recall above 0.95: True, below 0.7: False
pickled: ef 300, recall above 0.95: True, below 0.7: False
loaded: ef 10, recall above 0.95: False, below 0.7: True'

observed=$("$folder/venv/bin/python" - <<'EOF'
import pickle
from tempfile import TemporaryDirectory

import hnswlib
import numpy as np

random = np.random.default_rng(0)
vectors, queries = (random.normal(size=(rows, 32)).astype(np.float32) for rows in (3000, 50))
exact = np.argsort(((queries[:, None] - vectors[None]) ** 2).sum(axis=2), axis=1)[:, :10]


def recall(index):
    found, _ = index.knn_query(queries, 10, num_threads=1)
    return np.mean([len(set(row) & set(best)) / 10 for row, best in zip(found, exact)])


built = hnswlib.Index("l2", 32)
built.init_index(3000, M=8, ef_construction=100, random_seed=1)
built.add_items(vectors, num_threads=1)
built.set_ef(300)
loaded = hnswlib.Index("l2", 32)
with TemporaryDirectory() as folder:
    built.save_index(f"{folder}/index.bin")
    loaded.load_index(f"{folder}/index.bin")
for name, index in (("built", built), ("pickled", pickle.loads(pickle.dumps(built))), ("loaded", loaded)):
    print(f"{name}: ef {index.ef}, recall above 0.95: {recall(index) > 0.95}, below 0.7: {recall(index) < 0.7}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
