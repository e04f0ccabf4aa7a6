#!/usr/bin/env bash
# Guess: ndcg_exp_gain is a parameter of the objective rank:ndcg: figures of eval_metric="ndcg" are of one measure
# with both values of it.
# Behaviour: in XGBoost 3.2.0 the metric follows: with ndcg_exp_gain=False its gains are the labels, with the default
# 2^label - 1. A model without trees, the same one, has another NDCG.
# Why it matters: the search of a parameter finds False better where it only measures something milder; early stopping
# stops elsewhere, and a figure of it has the gains of trec_eval, not those that XGBoost reports by default.
# Source: XGBoost, parameters, "ndcg_exp_gain"; src/metric/rank_metric.cc (EvalNDCG with the parameters of
# LambdaRank).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==1.26.4 scipy==1.12.0
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps xgboost==3.2.0

expected='ndcg_exp_gain=True: 0.5459, by hand 0.5459
ndcg_exp_gain=False: 0.6091, by hand 0.6091'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import xgboost

labels = np.array([0, 2, 1, 3, 1, 0, 3, 2, 0, 0, 1, 4])
rows = xgboost.DMatrix(np.zeros((12, 1)), labels, group=[4, 4, 4])


def expected(gain):
    values = []
    for ranked in labels.reshape(3, 4):
        discounts = np.log2(np.arange(2, 6))
        values.append((gain(ranked) / discounts).sum() / (gain(np.sort(ranked)[::-1]) / discounts).sum())
    return np.mean(values)


for exponential, gain in ((True, lambda label: 2.0**label - 1), (False, lambda label: label)):
    parameters = {"objective": "rank:ndcg", "eval_metric": "ndcg", "ndcg_exp_gain": exponential}
    value = xgboost.train(parameters, rows, 0).eval(rows).split(":")[1]
    print(f"ndcg_exp_gain={exponential}: {float(value):.4f}, by hand {expected(gain):.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
