#!/usr/bin/env bash
# Guess: a feature that never was missing in training, and is NaN for one document later, counts for nothing or for
# the lowest: the document sinks.
# Behaviour: LightGBM 4.7.0 reads the NaN as 0 then, and XGBoost 3.2.0 sends it to the right of every split. Where the
# feature is a log probability, below 0, both score the document like the best that they saw; where it is a count
# above 0, LightGBM scores it like the lowest and XGBoost like the highest. One NaN among the rows of training changes
# this in both.
# Why it matters: when a feature fails in production, its documents rise to the top of the list instead of the bottom,
# and two libraries with one training set disagree where they go.
# Source: LightGBM, include/LightGBM/tree.h (NumericalDecision: NaN to 0 without MissingType::NaN); XGBoost, FAQ on
# missing values: the direction of a split is learnt, or fixed where nothing was missing.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lightgbm==4.7.0 numpy==1.26.4 scipy==1.12.0
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps xgboost==3.2.0

expected='log probability, LightGBM: NaN has the score of the highest
log probability, XGBoost: NaN has the score of the highest
count, LightGBM: NaN has the score of the lowest
count, XGBoost: NaN has the score of the highest
log probability with one NaN, LightGBM: NaN has the score of one between
log probability with one NaN, XGBoost: NaN has the score of one between'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import lightgbm
import numpy as np
import xgboost

random = np.random.default_rng(0)
values = random.uniform(1, 8, size=(2000, 1))
parameters = {"objective": "lambdarank", "num_threads": 1, "verbosity": -1}


def predict(tool, X, y, rows):
    group = 100 * [20]
    if tool == "LightGBM":
        return lightgbm.train(parameters, lightgbm.Dataset(X, y, group=group), 20).predict(rows)
    booster = xgboost.train({"objective": "rank:ndcg", "nthread": 1}, xgboost.DMatrix(X, y, group=group), 20)
    return booster.predict(xgboost.DMatrix(rows))


for name, X in (("log probability", -values), ("count", values), ("log probability with one NaN", -values)):
    y = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.25, 0.5, 0.75]))
    if "NaN" in name:
        X = np.where(np.arange(2000)[:, None] == 0, np.nan, X)
    rows = np.array([[np.nan], [np.nanmin(X)], [np.nanmax(X)]])
    for tool in ("LightGBM", "XGBoost"):
        missing, lowest, highest = predict(tool, X, y, rows)
        place = "the highest" if missing == highest else "the lowest" if missing == lowest else "one between"
        print(f"{name}, {tool}: NaN has the score of {place}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
