#!/usr/bin/env bash
# Guess: sp_matmul_topn of sparse_dot_topn, which keeps the top n products of each row, returns them with the best
# first, as awesome_cossim_topn of the same package does.
# Behaviour: by default sparse_dot_topn 1.2.0 returns the n best of a row in the order of a heap's array, so that the
# first entry of a row is the best for some rows and any of the n for others, here the best for 13 of 100, and indices
# are not in the order of the columns either. sort=True orders them; awesome_cossim_topn, which is deprecated and calls
# the same function, sets it.
# Why it matters: the package is used to match names and texts by TF-IDF, and who takes the first index of a row as the
# match, or writes the rows as a run in their order, has lists of the right documents in a wrong order.
# Source: sparse_dot_topn, api.py (sort: bool = False; awesome_cossim_topn passes sort=True); README (migration).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    cloudpickle==3.1.3 joblib==1.6.0 narwhals==2.29.0 numpy==2.4.6 psutil==7.2.2 scikit-learn==1.9.1 scipy==1.17.1 \
    sparse-dot-topn==1.2.0 threadpoolctl==3.8.0

expected='sparse_dot_topn 1.2.0
default: the ten best 100, best first 13, by product 0, by column 0 of 100 rows
sort=True: the ten best 100, best first 100, by product 100, by column 0 of 100 rows
awesome_cossim_topn: the ten best 100, best first 100, by product 100, by column 0 of 100 rows'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import warnings
from importlib.metadata import version

import numpy as np
from scipy.sparse import random as random_matrix
from sparse_dot_topn import awesome_cossim_topn, sp_matmul_topn

warnings.simplefilter("ignore")
print(f"sparse_dot_topn {version('sparse_dot_topn')}")
queries = random_matrix(100, 500, 0.1, format="csr", random_state=1)
documents = random_matrix(2000, 500, 0.1, format="csr", random_state=2).T.tocsr()
products = (queries @ documents).toarray()


def show(name, found):
    rows = [slice(found.indptr[row], found.indptr[row + 1]) for row in range(100)]
    best = sum(found.indices[row][0] == products[number].argmax() for number, row in enumerate(rows))
    same = sum(set(found.indices[row]) == set(np.argsort(-products[number])[:10]) for number, row in enumerate(rows))
    falling = sum((np.diff(found.data[row]) <= 0).all() for row in rows)
    rising = sum((np.diff(found.indices[row]) > 0).all() for row in rows)
    print(f"{name}: the ten best {same}, best first {best}, by product {falling}, by column {rising} of 100 rows")


show("default", sp_matmul_topn(queries, documents, top_n=10))
show("sort=True", sp_matmul_topn(queries, documents, top_n=10, sort=True))
show("awesome_cossim_topn", awesome_cossim_topn(queries, documents, ntop=10))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
