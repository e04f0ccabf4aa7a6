#!/usr/bin/env bash
# Guess: label_ranking_average_precision_score is the mean of AP over queries, and a query without a relevant document
# counts 0 or is left out, as in trec_eval.
# Behaviour: scikit-learn 1.9.1 counts such a query as 1, and so does one with relevant documents only. ndcg_score and
# average_precision_score of the same query are 0. Of tied documents the worst rank counts, so that the first of three
# ties has AP 1/3.
# Why it matters: unanswerable queries raise the mean, and the more of them, the better each system.
# Source: scikit-learn, metrics/_ranking.py: the case of no or all labels in the loop over samples, on which the
# documentation of the function is silent.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-learn==1.9.1 numpy==1.26.4 scipy==1.17.1

expected='LRAP: none relevant 1.0, one relevant at rank 2 0.5, both queries 0.75
nDCG: none relevant 0.0; average precision: none relevant 0.0
LRAP of one relevant among three ties: 0.333'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from sklearn.metrics import average_precision_score, ndcg_score
from sklearn.metrics import label_ranking_average_precision_score as lrap

none, second, scores = [0, 0, 0], [0, 1, 0], [3, 2, 1]
values = lrap([none], [scores]), lrap([second], [scores]), lrap([none, second], [scores, scores])
print("LRAP: none relevant {}, one relevant at rank 2 {}, both queries {}".format(*map(float, values)))
ndcg, ap = float(ndcg_score([none], [scores])), float(average_precision_score(none, scores))
print(f"nDCG: none relevant {ndcg}; average precision: none relevant {ap}")
print(f"LRAP of one relevant among three ties: {lrap([second], [[1, 1, 1]]):.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
