#!/usr/bin/env bash
# Guess: ranking_metrics_at_k of implicit takes items of the test matrix with a value above 0 for relevant: a matrix of
# ratings whose low ones were set to 0 judges by the high ones.
# Behaviour: in implicit 0.7.3 every stored entry is relevant, a 0 and a -1, too. data[data < 4] = 0, the usual way to
# cut ratings of a sparse matrix, changes no figure; only after eliminate_zeros() NDCG of the same recommendations falls
# from 1 to 0.82, and MAP to 0.75. Values have no weight at all: 1 before 5 has the NDCG of 5 before 1.
# Why it matters: items that users disliked count as hits, and a model that predicts who rates what, not who likes it,
# comes out ahead.
# Source: implicit, evaluation.pyx (ranking_metrics_at_k: the indices of each row are the set of liked items).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    implicit==0.7.3 numpy==1.26.4 scipy==1.15.3 tqdm==4.70.1 threadpoolctl==3.6.0

expected='all ratings: precision 1.00, map 1.00, ndcg 1.00
low ones 0: precision 1.00, map 1.00, ndcg 1.00
low ones -1: precision 1.00, map 1.00, ndcg 1.00
low ones left out: precision 1.00, map 0.75, ndcg 0.82'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from implicit.evaluation import ranking_metrics_at_k
from scipy.sparse import csr_matrix


class Model:
    """Recommends items 0 and 1 to both users."""

    def recommend(self, users, rows, N=10, **options):
        return np.tile(np.array([0, 1], dtype=np.int32), (len(users), 1))[:, :N], np.ones((len(users), N))


def figures(ratings):
    values = ranking_metrics_at_k(Model(), csr_matrix((2, 6)), ratings, K=2, show_progress=False)
    return ", ".join(f"{name} {values[name]:.2f}" for name in ("precision", "map", "ndcg"))


ratings = csr_matrix([[1.0, 5, 0, 0, 0, 0], [5, 1, 0, 0, 0, 0]])
print("all ratings:", figures(ratings))
ratings.data[ratings.data < 4] = 0
print("low ones 0:", figures(ratings))
ratings.data[ratings.data == 0] = -1
print("low ones -1:", figures(ratings))
ratings.data[ratings.data < 0] = 0
ratings.eliminate_zeros()
print("low ones left out:", figures(ratings))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
