#!/usr/bin/env bash
# Guess: convert_model of daal4py, which makes LightGBM's and XGBoost's models faster on Intel's processors, gives the
# scores of the model, or refuses what it cannot express.
# Behaviour: daal4py 2024.7.0 does so for plain trees. Of linear trees it takes the constants without the slopes, of
# trees with zero_as_missing the zeros as numbers, of XGBoost's dart the trees without their weights, and a value that
# is missing for the first time in production is sent elsewhere than by LightGBM, which takes it for 0. Nothing is said;
# up to eleven of a hundred queries have another first document.
# Why it matters: the conversion is advertised as one line that changes the speed alone, and scores of the converted
# model look like those of the model, with correlations of .99.
# Source: daal4py, mb/gbt_convertors.py (reads split_feature, threshold, default_left and leaf_value of each tree).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    daal4py==2024.7.0 daal==2024.7.0 tbb==2021.13.1 lightgbm==4.6.0 xgboost==2.1.4 \
    numpy==1.26.4 scipy==1.15.3 scikit-learn==1.5.2 packaging==24.2

expected='LightGBM: correlation 1.00, another first document in 0 of 100
zero_as_missing: correlation 0.99, another first document in 3 of 100
linear_tree: correlation 0.99, another first document in 11 of 100
first missing values: correlation 0.91, another first document in 11 of 100
XGBoost, gbtree: correlation 1.00, another first document in 0 of 100
XGBoost, dart: correlation 1.00, another first document in 3 of 100'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import daal4py
import lightgbm
import numpy as np
import xgboost

random = np.random.default_rng(0)
n_queries, n_docs = 100, 20
features = random.normal(size=(n_queries * n_docs, 4))
features[:, 1] *= random.random(len(features)) < 0.5
labels = np.clip(np.round(features[:, 0] + features[:, 1] + 1), 0, 4).astype(int)
with_missing = np.where(random.random(features.shape) < 0.1, np.nan, features)


def show(name, model, scores, data=features):
    converted = daal4py.mb.convert_model(model).predict(data).ravel()
    moved = np.sum(scores.reshape(n_queries, -1).argmax(1) != converted.reshape(n_queries, -1).argmax(1))
    print(f"{name}: correlation {np.corrcoef(scores, converted)[0, 1]:.2f}, another first document in {moved} of 100")


def train_lightgbm(**options):
    data = lightgbm.Dataset(features, labels, group=[n_docs] * n_queries)
    return lightgbm.train({"objective": "lambdarank", "verbose": -1, "num_threads": 1, **options}, data, 20)


show("LightGBM", model := train_lightgbm(), model.predict(features))
for option in ("zero_as_missing", "linear_tree"):
    model = train_lightgbm(**{option: True})
    show(option, model, model.predict(features))
model = train_lightgbm()
show("first missing values", model, model.predict(with_missing), with_missing)
data = xgboost.DMatrix(features, labels)
data.set_group([n_docs] * n_queries)
for booster in ("gbtree", "dart"):
    options = {"objective": "rank:ndcg", "booster": booster, "rate_drop": 0.5, "nthread": 1, "verbosity": 0}
    model = xgboost.train(options, data, 20)
    show(f"XGBoost, {booster}", model, model.predict(data))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
