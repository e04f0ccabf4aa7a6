#!/usr/bin/env bash
# Guess: label_ranking_loss is the share of pairs in the wrong order, one minus the area under the ROC curve of each
# query: pairs of equal scores count one half.
# Behaviour: in scikit-learn 1.9.1 such a pair counts as wrong. A constant model has the loss 1, as the reverse of the
# best order has, where roc_auc_score has 0.5; average precision of labels and coverage_error take the last rank of
# the tied documents, too. ndcg_score, of the same module, takes the mean over the orders.
# Why it matters: trees with few leaves, quantised vectors and word counts tie often; a coarse model that puts nothing
# wrong seems worse than one that guesses, and two measures of one table contradict each other.
# Source: scikit-learn, metrics/_ranking.py (label_ranking_loss; rankdata(method="max") in the average precision and
# in the coverage).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-learn==1.9.1 numpy==1.26.4 scipy==1.17.1

expected='best: loss 0.00, 1 - AUC 0.00, average precision 1.00, coverage 1, nDCG 1.00
constant: loss 1.00, 1 - AUC 0.50, average precision 0.25, coverage 4, nDCG 0.64
worst: loss 1.00, 1 - AUC 1.00, average precision 0.25, coverage 4, nDCG 0.43
fine scores: loss 0.29, 1 - AUC 0.29
cut into two: loss 0.70, 1 - AUC 0.39
guesses: loss 0.50, 1 - AUC 0.50'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from sklearn.metrics import (
    coverage_error,
    label_ranking_average_precision_score,
    label_ranking_loss,
    ndcg_score,
    roc_auc_score,
)

labels = [1, 0, 0, 0]
for name, scores in (("best", [2, 1, 1, 0]), ("constant", [1, 1, 1, 1]), ("worst", [0, 1, 2, 3])):
    values = [measure([labels], [scores]) for measure in
              (label_ranking_loss, label_ranking_average_precision_score, coverage_error, ndcg_score)]
    loss, precision, coverage, ndcg = values
    print(f"{name}: loss {loss:.2f}, 1 - AUC {1 - roc_auc_score(labels, scores):.2f}, average precision "
          f"{precision:.2f}, coverage {coverage:.0f}, nDCG {ndcg:.2f}")
random = np.random.default_rng(0)
labels = np.array([[1] * 5 + [0] * 15] * 200)
fine = labels * 0.8 + random.normal(size=labels.shape)
coarse = (fine > 1.2).astype(int)
guesses = random.normal(size=labels.shape)
for name, scores in (("fine scores", fine), ("cut into two", coarse), ("guesses", guesses)):
    auc = np.mean([roc_auc_score(*query) for query in zip(labels, scores)])
    print(f"{name}: loss {label_ranking_loss(labels, scores):.2f}, 1 - AUC {1 - auc:.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
