#!/usr/bin/env bash
# Guess: interactions may be 1 and -1, as for the logistic loss; the evaluation takes those of 1 as relevant.
# Behaviour: lightfm (lightfm-next 1.19.0) takes each non-zero entry of the test matrix for a known positive: the item
# that a user disliked, ranked first, gives a precision and a reciprocal rank of 1, where they are 0 and 0.33 by the
# liked item alone; a model that ranks the liked item first and the disliked one last has the lower AUC of the two.
# Why it matters: matrices made of ratings or of clicks and skips keep their signs from training to the test; the
# measures then reward what is disliked, and a model that learnt from the dislikes is below one that did not.
# Source: lightfm, evaluation.py (test_interactions: non-zero entries are known positives).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lightfm-next==1.19.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 requests==2.34.2

expected='disliked first, test of 1 and -1: precision@1 1.00, recall@1 0.50, reciprocal rank 1.00, AUC 0.83
disliked first, test of 1 alone: precision@1 0.00, recall@1 0.00, reciprocal rank 0.33, AUC 0.50
liked first, test of 1 and -1: precision@1 1.00, recall@1 0.50, reciprocal rank 1.00, AUC 0.50
liked first, test of 1 alone: precision@1 1.00, recall@1 1.00, reciprocal rank 1.00, AUC 1.00'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import numpy as np
import scipy.sparse
from lightfm import LightFM
from lightfm.evaluation import auc_score, precision_at_k, recall_at_k, reciprocal_rank

model = LightFM(no_components=1, random_state=1)
model.fit(scipy.sparse.coo_matrix(np.eye(2, 5, dtype=np.float32)), epochs=1)
for weights in (model.item_embeddings, model.user_embeddings, model.item_biases, model.user_biases):
    weights[:] = 0
signed = scipy.sparse.coo_matrix(np.array([[0, 1, 0, 0, -1], [0, 0, 0, 0, 0]], dtype=np.float32))
liked = scipy.sparse.coo_matrix(np.array([[0, 1, 0, 0, 0], [0, 0, 0, 0, 0]], dtype=np.float32))
orders = {"disliked first": [1, 2, 3, 0, 4], "liked first": [1, 4, 3, 2, 0]}
for name, scores in orders.items():
    model.item_biases[:] = scores
    for kind, test in (("1 and -1", signed), ("1 alone", liked)):
        values = {
            "precision@1": precision_at_k(model, test, k=1),
            "recall@1": recall_at_k(model, test, k=1),
            "reciprocal rank": reciprocal_rank(model, test),
            "AUC": auc_score(model, test),
        }
        print(f"{name}, test of {kind}:", ", ".join(f"{measure} {value[0]:.2f}" for measure, value in values.items()))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
