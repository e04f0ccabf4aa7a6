#!/usr/bin/env bash
# Guess: precision at k of implicit.evaluation is the share of the k recommended items that are relevant.
# Behaviour: in implicit 0.7.3 it is divided by min(k, relevant items): where one item is relevant and found,
# precision at 5 is 1, and not .2. That is recall for users of fewer than k items.
# Why it matters: leave-one-out tests have one item a user: precision and hit rate are then the same number, and
# precision rises with k.
# Source: implicit, evaluation.pyx (ranking_metrics_at_k: pr_div += min(K, likes)).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    implicit==0.7.3 numpy==1.26.4 scipy==1.15.3 tqdm==4.70.1 threadpoolctl==3.6.0

expected='1 relevant, at 1, 2 and 5: 0.0 1.0 1.0
3 relevant, at 1, 2 and 5: 1.0 1.0 1.0'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import scipy.sparse
from implicit.evaluation import precision_at_k


class Fixed:
    """Recommends the items 0, 1, 2, 3, 4 to everybody."""

    def recommend(self, users, rows, N=10, **others):
        return np.array([range(N) for _ in users], dtype=np.int32), None


train = scipy.sparse.csr_matrix((1, 6))
for liked in ([1], [0, 1, 3]):
    test = np.zeros((1, 6), dtype=np.float32)
    test[0, liked] = 1.0
    found = [precision_at_k(Fixed(), train, scipy.sparse.csr_matrix(test), k, show_progress=False) for k in (1, 2, 5)]
    print(len(liked), "relevant, at 1, 2 and 5:", *(float(value) for value in found))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
