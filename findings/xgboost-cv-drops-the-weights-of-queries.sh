#!/usr/bin/env bash
# Guess: xgboost.cv takes the weights of queries from the DMatrix: folds of queries are trained and measured with them.
# Behaviour: xgboost.cv 3.2.0 drops them without a word: weights of 1 and of 1000 give the figures of no weights, while
# train() with the same DMatrix uses them. DMatrix.slice(allow_groups=True), which makes the folds, has no weights.
# Why it matters: parameters that are chosen by cross-validation are chosen for another loss and another measure than
# those that the final, weighted training has.
# Source: src/data/data.cc, MetaInfo::Slice: where there is one weight a query, the new object's weights are assigned to
# themselves and so stay empty; the fold maker in xgboost/training.py (mkgroupfold) restores the groups only.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy==2.4.6 scipy==1.17.1 pandas==3.1.1
"$work/venv/bin/pip" install -q --no-deps xgboost==3.2.0
cd "$work"
venv/bin/python - > observed <<'PYTHON'
import numpy as np
import xgboost

random = np.random.default_rng(0)
X = random.normal(size=(600, 3)).astype(np.float32)
qid = np.repeat(np.arange(60), 10)
y = np.where(qid < 30, X[:, 0] > 0, X[:, 0] < 0).astype(int)  # two kinds of queries that contradict each other
weights = np.where(np.arange(60) < 30, 1000.0, 1.0)
parameters = {"objective": "rank:ndcg", "eval_metric": "ndcg@5", "nthread": 1}


def data(weight):
    return xgboost.DMatrix(X, label=y, qid=qid, weight=weight)


def trained(weight):
    return float(xgboost.train(parameters, data(weight), 5).eval(data(None)).rpartition(":")[2])


def validated(weight):
    return xgboost.cv(parameters, data(weight), 5, nfold=3, seed=0)["test-ndcg@5-mean"].iloc[-1]


print("train() uses the weights:", abs(trained(None) - trained(weights)) > 0.05)
print("cv() uses the weights:", bool(validated(None) != validated(weights)))
part = data(weights).slice(np.arange(300), allow_groups=True)
print("weights in the DMatrix and in a slice of 30 queries:", len(data(weights).get_weight()), len(part.get_weight()))
PYTHON
cat > expected <<'TEXT'
train() uses the weights: True
cv() uses the weights: False
weights in the DMatrix and in a slice of 30 queries: 60 0
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
