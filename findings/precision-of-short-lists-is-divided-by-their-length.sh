#!/usr/bin/env bash
# Guess: precision at 10 is divided by 10 everywhere, also where a query has fewer documents.
# Behaviour: pre@10 of XGBoost 3.2.0 and PrecisionAt:top=10 of CatBoost 1.2.10 divide by the number of documents
# where that is less; trec_eval (pytrec_eval-terrier 0.5.11) divides by 10.
# Why it matters: learning-to-rank data have many queries of fewer than ten documents: the figure of the training is
# above that of the evaluation for the same order.
# Source: XGBoost, src/metric/rank_metric.cc (EvalPrecision); CatBoost, libs/metrics/precision_recall_at_k.cpp.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    xgboost==3.2.0 catboost==1.2.10 pytrec-eval-terrier==0.5.11 numpy==2.4.6 scipy==1.17.1 pandas==2.3.3

expected='XGBoost 0.8333
CatBoost 0.8333
trec_eval 0.5'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import pytrec_eval
import xgboost
from catboost.utils import eval_metric

labels = [1, 1, 0, 1, 1, 1]
scores = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
matrix = xgboost.DMatrix(np.zeros((6, 1)), labels, qid=[0] * 6, base_margin=scores)
booster = xgboost.train({"objective": "rank:pairwise", "eval_metric": "pre@10", "eta": 0, "nthread": 1}, matrix, 1)
print("XGBoost", round(float(booster.eval(matrix).split(":")[1]), 4))
print("CatBoost", round(eval_metric(labels, scores, "PrecisionAt:top=10", group_id=[0] * 6)[0], 4))
names = [f"d{number}" for number in range(6)]
evaluator = pytrec_eval.RelevanceEvaluator({"q": dict(zip(names, labels))}, {"P.10"})
print("trec_eval", evaluator.evaluate({"q": dict(zip(names, scores))})["q"]["P_10"])
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
