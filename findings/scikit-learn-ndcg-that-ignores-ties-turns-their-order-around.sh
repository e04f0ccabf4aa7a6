#!/usr/bin/env bash
# Guess: ndcg_score(ignore_ties=True) of scikit-learn takes equal scores in the order of the columns, as a stable sort
# does.
# Behaviour: scikit-learn 1.9.1 takes them from the last to the first: with three equal scores a relevant document in
# the first column is at rank 3 (nDCG .5), in the last at rank 1 (1.0). A list that a first stage has ordered, and
# whose scores are all equal, is measured upside down. Without the option all orders are averaged (.7103).
# Why it matters: the option is recommended for speed where there are no ties; scores that were rounded, or of trees
# with few leaves, have many. trec_eval orders ties by document id, and LightGBM by position, so that figures differ
# most where documents come in the order of relevance.
# Source: scikit-learn, sklearn/metrics/_ranking.py, _dcg_sample_scores: argsort of the scores, then reversed. Its
# documentation says: assume that there are no ties.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1

expected='relevant in column 0: 0.5000, averaged 0.7103
relevant in column 1: 0.6309, averaged 0.7103
relevant in column 2: 1.0000, averaged 0.7103
labels 3 2 1 0 and equal scores: 0.6138
labels 0 1 2 3 and equal scores: 1.0000'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from sklearn.metrics import ndcg_score

equal = [[0.5, 0.5, 0.5]]
for column in range(3):
    labels = [[int(other == column) for other in range(3)]]
    first = ndcg_score(labels, equal, ignore_ties=True)
    print(f"relevant in column {column}: {first:.4f}, averaged {ndcg_score(labels, equal):.4f}")
print(f"labels 3 2 1 0 and equal scores: {ndcg_score([[3, 2, 1, 0]], [[1, 1, 1, 1]], ignore_ties=True):.4f}")
print(f"labels 0 1 2 3 and equal scores: {ndcg_score([[0, 1, 2, 3]], [[1, 1, 1, 1]], ignore_ties=True):.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
