#!/usr/bin/env bash
# Guess: a loss of rax for a batch of lists is the mean of the losses of its lists, as each function gives them for
# one list alone.
# Behaviour: in rax 0.4.0 that holds for softmax_loss and listmle_loss. pairwise_logistic_loss and pairwise_hinge_loss
# are the mean over all pairs of the batch, the pointwise losses that over all documents: a list of two documents
# beside one of twenty has one of 20 pairs, and its error of 3.05 counts 0.15. The batch has 0.2, the mean of its
# lists 1.55.
# Why it matters: lists with many documents, or with many relevant ones, decide what is learned, and the same list
# weighs more or less with what else is in its batch; RankNet and hinge losses of rax are no drop-in for those of
# other libraries, where each query counts once. To exchange softmax_loss for a pairwise loss also changes the weights
# of the queries.
# Source: rax, _src/losses.py: the pairwise losses hand all pairs to safe_reduce with the mean at once, listwise ones
# first sum over a list. The documentation of reduce_fn says only that it reduces the loss.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check rax==0.4.0 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6

expected='softmax_loss: batch 1.86, mean of its lists 1.86
listmle_loss: batch 21.53, mean of its lists 21.53
pairwise_logistic_loss: batch 0.20, mean of its lists 1.55
pairwise_hinge_loss: batch 0.20, mean of its lists 2.00
pointwise_sigmoid_loss: batch 0.77, mean of its lists 1.27'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import rax

scores, labels, where = np.zeros((2, 20)), np.zeros((2, 20)), np.ones((2, 20), bool)
where[0, 2:] = False
labels[:, 0] = 1
scores[:, 0] = -3, 3
for name in ("softmax_loss", "listmle_loss", "pairwise_logistic_loss", "pairwise_hinge_loss", "pointwise_sigmoid_loss"):
    loss = getattr(rax, name)
    lists = [float(loss(s[w], l[w])) for s, l, w in zip(scores, labels, where)]
    print(f"{name}: batch {float(loss(scores, labels, where=where)):.2f}, mean of its lists {np.mean(lists):.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
