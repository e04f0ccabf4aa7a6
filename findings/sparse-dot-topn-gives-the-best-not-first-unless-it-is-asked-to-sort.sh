#!/usr/bin/env bash
# Guess: sp_matmul_topn(a, b, top_n) gives of each row the n highest values, the highest first, as its predecessor
# awesome_cossim_topn did and as rankings are.
# Behaviour: sparse_dot_topn 1.2.0 has the right n, in the order in which they were met from the end of the columns:
# sort=False is the default. indices[0] of a row is any of the n, here the second. With sort=True the best is first.
# A value that is equal to the threshold is left out.
# Why it matters: names and texts are matched by taking the first of each row; with n = 1 it is right, and with more the
# match is any of the n. A test on a few rows may be in order by chance.
# Source: sparse_dot_topn, api.py (sort: False; threshold: values greater than it are kept).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    sparse-dot-topn==1.2.0 scipy==1.17.1 numpy==2.4.6 psutil==7.2.2

expected='top 3: 3 0.750, 2 0.875, 1 0.500
top 3, sorted: 2 0.875, 3 0.750, 1 0.500
top 1: 2 0.875
above 0.5: 3 0.750, 2 0.875
all: 0.25 0.5 0.875 0.75 0.0625'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import numpy as np
import scipy.sparse
from sparse_dot_topn import sp_matmul_topn

query = scipy.sparse.csr_matrix(np.array([[1.0, 1.0]]))
texts = scipy.sparse.csr_matrix(np.array([[0.125, 0.25, 0.5, 0.5, 0.0], [0.125, 0.25, 0.375, 0.25, 0.0625]]))
settings = {"top 3": {}, "top 3, sorted": {"sort": True}, "top 1": {"top_n": 1}, "above 0.5": {"threshold": 0.5}}
for name, options in settings.items():
    row = sp_matmul_topn(query, texts, **{"top_n": 3, **options})
    print(f"{name}:", ", ".join(f"{index} {value:.3f}" for index, value in zip(row.indices, row.data)))
print("all:", *np.asarray((query @ texts).todense())[0])
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
