#!/usr/bin/env bash
# Guess: AP at k of a library that trains rankers is map_cut_k of trec_eval.
# Behaviour: LightGBM 4.7.0, XGBoost 3.2.0 and CatBoost 1.2.10 divide by min(k, relevant documents), trec_eval
# (pytrec_eval-terrier 0.5.11) and ranx 0.3.21 by all relevant documents: 1 for .4 where the first two of five are
# found.
# Why it matters: the figure of early stopping, and the one that is reported, are of two measures; the more relevant
# documents a query has, the further they are apart.
# Source: LightGBM, src/metric/map_metric.hpp; XGBoost, src/metric/rank_metric.cc; CatBoost, libs/metrics;
# trec_eval, m_map_cut.c.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lightgbm==4.7.0 xgboost==3.2.0 catboost==1.2.10 ranx==0.3.21 pytrec-eval-terrier==0.5.11 numba==0.68.1 llvmlite==0.50.0 numpy==2.4.6 scipy==1.17.1 pandas==2.3.3

expected='XGBoost 1.0
LightGBM 1.0
CatBoost 1.0
trec_eval 0.4
ranx 0.4'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import lightgbm
import numpy as np
import pytrec_eval
import xgboost
from catboost.utils import eval_metric
from ranx import Qrels, Run, evaluate

labels = [1, 1, 0, 1, 1, 1]
scores = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
X = np.arange(6.0)[:, None]
matrix = xgboost.DMatrix(X, labels, qid=[0] * 6, base_margin=scores)
booster = xgboost.train({"objective": "rank:pairwise", "eval_metric": "map@2", "eta": 0, "nthread": 1}, matrix, 1)
print("XGBoost", float(booster.eval(matrix).split(":")[1]))
data = lightgbm.Dataset(X, labels, group=[6], init_score=scores, params={"min_data_in_bin": 1})
seen = {}
settings = {"objective": "lambdarank", "metric": "map", "eval_at": [2], "learning_rate": 1e-9, "verbose": -1}
record = [lightgbm.record_evaluation(seen)]
lightgbm.train({**settings, "min_data_in_leaf": 1}, data, 1, valid_sets=[data], callbacks=record)
print("LightGBM", float(seen["training"]["map@2"][0]))
print("CatBoost", eval_metric(labels, scores, "MAP:top=2", group_id=[0] * 6)[0])
names = [f"d{number}" for number in range(6)]
qrels, run = ({"q": dict(zip(names, values))} for values in (labels, scores))
print("trec_eval", pytrec_eval.RelevanceEvaluator(qrels, {"map_cut.2"}).evaluate(run)["q"]["map_cut_2"])
print("ranx", float(evaluate(Qrels(qrels), Run(run), "map@2")))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
