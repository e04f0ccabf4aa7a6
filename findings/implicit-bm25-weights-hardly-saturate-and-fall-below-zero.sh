#!/usr/bin/env bash
# Guess: bm25_weight of implicit, and its BM25Recommender, are BM25 with the usual k1 between 1.2 and 2, and weights
# of 0 or more.
# Behaviour: in implicit 0.7.3 K1 is 100 and B 0.8: the weight of ten occurrences is nine times that of one, where k1
# of 1.2 gives 1.9 times. The idf is log(N / (n + 1)): what stands in all rows has a weight below 0, the lower the
# more often it occurs, and what stands in all rows but one has 0.
# Why it matters: it is TF-IDF with lengths rather than BM25: a baseline that bears the name in papers on
# recommendation is ruled by the heaviest users and items, and in a small collection frequent items count against
# those who like them.
# Source: implicit, nearest_neighbours.py (bm25_weight: K1=100, B=0.8; log(N) - log1p of the counts).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    implicit==0.7.3 numpy==1.26.4 scipy==1.12.0

expected='in all rows: -0.154 -0.305 -0.453 -0.599 -0.741 -0.881
in all rows but one: 0.000 0.000 0.000 0.000 0.000 0.000
default K1: ten occurrences over one: 9.18
K1=1.2: ten occurrences over one: 1.96'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from implicit.nearest_neighbours import bm25_weight
from scipy.sparse import csr_matrix

counts = np.zeros((6, 4))
counts[:, 0] = (1, 2, 3, 4, 5, 6)
counts[:5, 1] = 1
counts[0, 2] = 1
counts[1, 3] = 10
print("in all rows:", *(f"{value:.3f}" for value in bm25_weight(csr_matrix(counts), B=0).toarray()[:, 0]))
print("in all rows but one:", *(f"{abs(value):.3f}" for value in bm25_weight(csr_matrix(counts), B=0).toarray()[:, 1]))
for name, options in (("default K1", {}), ("K1=1.2", {"K1": 1.2})):
    weights = bm25_weight(csr_matrix(counts), B=0, **options).toarray()
    print(f"{name}: ten occurrences over one: {weights[1, 3] / weights[0, 2]:.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
