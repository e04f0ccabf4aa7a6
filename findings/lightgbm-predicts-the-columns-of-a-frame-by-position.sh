#!/usr/bin/env bash
# Guess: a ranker that was fitted on a data frame finds the features of another frame by their names, or refuses
# another order of the columns.
# Behaviour: LGBMRanker.predict of LightGBM 4.7.0 takes columns by position and does not look at their names: with the
# columns turned round, the scores have nothing to do with the labels, and nothing warns. CatBoost 1.2.10 finds them
# by name, also among others; XGBoost 3.2.0 and scikit-learn 1.9.1 refuse. Only predict(..., validate_features=True)
# makes LightGBM compare names.
# Why it matters: features that are joined from another file, store or version come in another order. Whoever tries
# all libraries on one frame, or changes from one to the other, sees one model fail without an error.
# Source: LightGBM, basic.py (Booster.predict, validate_features=False by default).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lightgbm==4.7.0 xgboost-cpu==3.2.0 catboost==1.2.10 numpy==1.26.4 scipy==1.17.1 pandas==2.3.3 \
    scikit-learn==1.9.1

expected='LightGBM: columns as in training 0.9, turned round -0.1
CatBoost: columns as in training 0.9, turned round 0.9
XGBoost: columns as in training 1.0, turned round refused
scikit-learn: columns as in training 1.0, turned round refused'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import pandas as pd
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingRegressor
from xgboost import XGBRanker

random = np.random.default_rng(0)
X = pd.DataFrame(random.normal(size=(300, 3)), columns=["bm25", "length", "age"])
y = (X["bm25"] > 0).astype(int) + (X["bm25"] > 1)
queries = np.repeat(np.arange(30), 10)
models = {
    "LightGBM": LGBMRanker(n_estimators=10, num_threads=1, verbose=-1).fit(X, y, group=[10] * 30),
    "CatBoost": CatBoostRanker(iterations=10, thread_count=1, verbose=0, allow_writing_files=False).fit(
        X, y, group_id=queries
    ),
    "XGBoost": XGBRanker(n_estimators=10, n_jobs=1).fit(X, y, qid=queries),
    "scikit-learn": HistGradientBoostingRegressor(max_iter=10).fit(X, y),
}
for name, model in models.items():
    correlations = []
    for columns in (["bm25", "length", "age"], ["age", "length", "bm25"]):
        try:
            correlations.append(f"{spearmanr(model.predict(X[columns]), y).statistic:.1f}".replace("-0.0", "0.0"))
        except ValueError:
            correlations.append("refused")
    print(f"{name}: columns as in training {correlations[0]}, turned round {correlations[1]}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
