#!/usr/bin/env bash
# Guess: average_precision_score of documents with equal scores is that of the rows as they stand, as in trec_eval of
# one order, or the mean over all orders, as its AUC counts ties half.
# Behaviour: scikit-learn 1.9.1 takes equal scores for one threshold, whose precision counts for all its documents:
# where all are equal AP is the share of relevant ones, .5 for one of two, whose worst order has .5 and the mean of both
# .75. Below a document that does not tie, one relevant of six tied ones counts as in the last place. roc_auc_score of
# the same ties is .5.
# Why it matters: grades of language models, votes and binary features tie by the dozen; runs with coarse scores lose
# against fine ones by this, and the figure is not that of trec_eval, which orders ties by document.
# Source: scikit-learn, sklearn/metrics/_ranking.py (average_precision_score: sum over distinct thresholds).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1

expected='one of two, tied: 0.500; orders 0.500 to 1.000, mean 0.750
one of four, tied: 0.250; orders 0.250 to 1.000, mean 0.521
two of five, tied: 0.400; orders 0.325 to 1.000, mean 0.592
first, then one of six, tied: 0.643; orders 0.643 to 1.000, mean 0.765
AUC of one of two, tied: 0.5'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from itertools import permutations

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score


def average_precision(labels):
    labels = np.asarray(labels)
    precision = np.cumsum(labels) / np.arange(1, len(labels) + 1)
    return precision[labels == 1].mean()


lists = {
    "one of two, tied": ([1, 0], [1, 1]),
    "one of four, tied": ([1, 0, 0, 0], [1, 1, 1, 1]),
    "two of five, tied": ([1, 1, 0, 0, 0], [1, 1, 1, 1, 1]),
    "first, then one of six, tied": ([1, 1, 0, 0, 0, 0, 0], [2, 1, 1, 1, 1, 1, 1]),
}
for name, (labels, scores) in lists.items():
    orders = [order for order in permutations(range(len(labels))) if np.all(np.diff(np.take(scores, order)) <= 0)]
    values = [average_precision(np.take(labels, order)) for order in orders]
    value = average_precision_score(labels, scores)
    print(f"{name}: {value:.3f}; orders {min(values):.3f} to {max(values):.3f}, mean {np.mean(values):.3f}")
print("AUC of one of two, tied:", roc_auc_score([1, 0], [1, 1]))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
