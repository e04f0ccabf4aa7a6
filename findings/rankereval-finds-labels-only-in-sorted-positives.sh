#!/usr/bin/env bash
# Guess: the relevant items of BinaryLabels.from_positive_indices are a set, and their order does not matter.
# Behaviour: in rankerEval 0.2.0 the label of a ranked item is looked up by bisection in the indices as they were
# given. Where they are not ascending some are not found: of the relevant items 5 and 0, given as [5, 0], one is seen.
# The ideal of NDCG is looked up in the same way, and NDCG reaches 1.58.
# Why it matters: relevant items in the order of clicks, of a file or of a set are the usual input; precision, recall
# and AP are too low without a warning, and NDCG leaves its range.
# Source: rankereval/data.py (fast_lookup uses numpy.searchsorted; SparseMatrix.from_lil keeps the order).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    rankerEval==0.2.0 numpy==1.26.4 scipy==1.17.1 numba==0.68.1

expected='[0, 5] Precision 0.4 Recall 1.0 AP 1.0 NDCG 1.0
[5, 0] Precision 0.2 Recall 0.5 AP 0.5 NDCG 1.585
[1, 2, 3] Precision 0.6 Recall 1.0 AP 0.4778 NDCG 0.6183
[3, 1, 2] Precision 0.4 Recall 0.6667 AP 0.2167 NDCG 0.7229'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from rankereval import AP, NDCG, BinaryLabels, Precision, Rankings, Recall

ranking = Rankings.from_ranked_indices([[0, 5, 3, 1, 2]])
for positives in ([0, 5], [5, 0], [1, 2, 3], [3, 1, 2]):
    labels = BinaryLabels.from_positive_indices([positives])
    values = {metric.__name__: round(float(metric(5).score(labels, ranking)[0]), 4)
              for metric in (Precision, Recall, AP, NDCG)}
    print(positives, *(f"{name} {value}" for name, value in values.items()))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
