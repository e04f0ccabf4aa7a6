#!/usr/bin/env bash
# Guess: NDCG of CatBoost has the gain 2^label - 1, as that of LightGBM and XGBoost, beside which it is compared.
# Behaviour: in CatBoost 1.2.10 the gain is the label unless type=Exp is written; the gain of the other two is
# 2^label - 1 by default.
# Why it matters: three libraries that train for nDCG report two measures under one name; with graded labels one is
# the greater for some orders, the other for others.
# Source: CatBoost, metrics of ranking (NDCG: type, by default Base); LightGBM, label_gain; XGBoost, ndcg_exp_gain.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    catboost==1.2.10 lightgbm==4.7.0 xgboost==3.2.0 numpy==2.4.6 scipy==1.17.1 pandas==2.3.3

expected='CatBoost: label
CatBoost, type=Exp: 2^label - 1
XGBoost: 2^label - 1
LightGBM: 2^label - 1'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import lightgbm
import numpy as np
import xgboost
from catboost.utils import eval_metric

labels = np.array([0, 3, 1, 2])
scores = np.array([4.0, 3.0, 2.0, 1.0])
X = np.arange(4.0)[:, None]


def of(gains):
    discounts = 1 / np.log2(np.arange(2, 6))
    return (gains @ discounts) / (np.sort(gains)[::-1] @ discounts)


known = {"label": of(labels), "2^label - 1": of(2.0**labels - 1)}
matrix = xgboost.DMatrix(X, labels, qid=[0] * 4, base_margin=scores)
booster = xgboost.train({"objective": "rank:ndcg", "eval_metric": "ndcg@4", "eta": 0, "nthread": 1}, matrix, 1)
data = lightgbm.Dataset(X, labels, group=[4], init_score=scores, params={"min_data_in_bin": 1})
seen = {}
settings = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [4], "learning_rate": 1e-9, "verbose": -1}
record = [lightgbm.record_evaluation(seen)]
lightgbm.train({**settings, "min_data_in_leaf": 1}, data, 1, valid_sets=[data], callbacks=record)
values = {
    "CatBoost": eval_metric(labels, scores, "NDCG", group_id=[0] * 4)[0],
    "CatBoost, type=Exp": eval_metric(labels, scores, "NDCG:type=Exp", group_id=[0] * 4)[0],
    "XGBoost": float(booster.eval(matrix).split(":")[1]),
    "LightGBM": seen["training"]["ndcg@4"][0],
}
for name, value in values.items():
    print(name + ":", *(gain for gain, expected in known.items() if abs(value - expected) < 1e-6))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
