#!/usr/bin/env bash
# Guess: eval_metric="auc" of a ranking objective is the AUC of each query, averaged: pairs of one relevant and one
# other document. Documents in perfect order have 1.
# Behaviour: XGBoost 3.2.0 counts all pairs, those of two documents with the same label, too: they are right if their
# scores fall in the order of the rows. A perfect order has less than 1, the value depends on the order of the rows, a
# query without a relevant document counts, and a query of two documents makes it NaN.
# Why it matters: AUC of a ranker trained with rank:* is neither that of binary:logistic nor that of scikit-learn.
# Source: src/metric/auc.cc, the ranking AUC of one query: it sorts documents by label and divides by n (n - 1) / 2.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy==2.4.6 scipy==1.17.1
"$work/venv/bin/pip" install -q --no-deps xgboost==3.2.0
cd "$work"
venv/bin/python - > observed <<'PYTHON'
import numpy as np
import xgboost


def auc(labels, scores, sizes):
    data = xgboost.DMatrix(np.zeros((len(labels), 1)), label=labels, group=sizes, base_margin=np.array(scores, float))
    booster = xgboost.train({"objective": "rank:ndcg", "eval_metric": "auc"}, data, 0)
    return round(float(booster.eval(data).rpartition(":")[2]), 4)


print("perfect, rows by score:", auc([1, 0, 0], [3, 2, 1], [3]))
print("perfect, rows in another order:", auc([1, 0, 0], [3, 1, 2], [3]))
print("perfect, ten documents:", auc([1] + [0] * 9, [10, *range(1, 10)], [10]))
print("no relevant document:", auc([0, 0, 0], [3, 2, 1], [3]), auc([0, 0, 0], [1, 2, 3], [3]))
print("two documents:", auc([1, 0], [2, 1], [2]))
PYTHON
cat > expected <<'TEXT'
perfect, rows by score: 1.0
perfect, rows in another order: 0.6667
perfect, ten documents: 0.2
no relevant document: 1.0 0.0
two documents: nan
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
