#!/usr/bin/env bash
# Guess: the measures of napkinXC, which take predictions as a matrix of scores or as lists of pairs of label and score,
# rank by the scores in both.
# Behaviour: napkinxc 0.7.2 ranks a matrix by its scores and a list of pairs by the order of the pairs, and never reads
# their scores. The same predictions have a precision at 1 of 1 as a matrix and of 0 as pairs in the order of labels.
# A stored zero of the true labels counts as a true label in a sparse matrix, and not in a dense one.
# Why it matters: pairs in the order of labels are what a sparse row or a dictionary of several models gives, and the
# figure is that of the numbering of the labels. Its own predict gives sorted pairs, so that tests pass.
# Source: napkinxc, metrics.py (_Y_list_iterator: the line that sorts is a comment).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    beautifulsoup4==4.15.0 certifi==2026.10.19.post1 charset-normalizer==3.5.3 filelock==4.3.1 gdown==6.5.1 \
    idna==3.20 napkinxc==0.7.2 numpy==2.4.6 PySocks==1.7.1 requests==2.34.2 scipy==1.17.1 soupsieve==4.1.3 \
    tqdm==4.70.1 typing_extensions==4.16.0 urllib3==2.8.0

expected='napkinxc 0.7.2
matrix: p@1 p@2 r@1 r@2 n@1 n@2 1.00 0.75 0.75 1.00 1.00 1.00
sparse matrix: p@1 p@2 r@1 r@2 n@1 n@2 1.00 0.75 0.75 1.00 1.00 1.00
pairs by label: p@1 p@2 r@1 r@2 n@1 n@2 0.00 0.25 0.00 0.25 0.00 0.19
pairs by score: p@1 p@2 r@1 r@2 n@1 n@2 1.00 0.75 0.75 1.00 1.00 1.00
true labels, stored zero: p@1 1.00
true labels, dense: p@1 0.00'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

import numpy as np
from napkinxc.metrics import ndcg_at_k, precision_at_k, recall_at_k
from scipy.sparse import csr_matrix

print(f"napkinxc {version('napkinxc')}")
scores = np.array([[0.1, 0.2, 0.3, 0.9], [0.2, 0.8, 0.1, 0.7]])
true = [[3], [1, 3]]
pairs = [list(enumerate(row)) for row in scores.tolist()]
ranked = [sorted(row, key=lambda pair: -pair[1]) for row in pairs]
predictions = {"matrix": scores, "sparse matrix": csr_matrix(scores), "pairs by label": pairs, "pairs by score": ranked}
for name, prediction in predictions.items():
    values = [measure(true, prediction, k=2) for measure in (precision_at_k, recall_at_k, ndcg_at_k)]
    print(f"{name}: p@1 p@2 r@1 r@2 n@1 n@2 " + " ".join(f"{value:.2f}" for row in values for value in row))
stored = csr_matrix((np.array([1.0, 0.0]), (np.array([0, 0]), np.array([0, 3]))), shape=(1, 4))
for name, labels in {"stored zero": stored, "dense": stored.toarray()}.items():
    print(f"true labels, {name}: p@1 {precision_at_k(labels, scores[:1], k=1)[0]:.2f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
