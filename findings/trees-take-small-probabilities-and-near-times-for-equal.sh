#!/usr/bin/env bash
# Guess: a tree needs the order of a feature alone: query likelihoods as probabilities, or times in seconds, serve as
# well as their logarithms or ages.
# Behaviour: LightGBM 4.7.0 takes every value between -1e-35 and 1e-35 for 0: probabilities near 1e-40, as those of a
# query of ten words, are one value, and no tree is grown. XGBoost 3.2.0 and CatBoost 1.2.10 keep features as float32:
# below 1e-45 all is 0, and times in seconds since 1970 are rounded to 128 seconds, so that a minute is one value.
# HistGradientBoostingRegressor of scikit-learn 1.9.1 tells all of them apart. CatBoost alone says that a feature is
# constant.
# Why it matters: the feature is silently gone, and another library, with the same data, learns it.
# Source: LightGBM, meta.h (kZeroThreshold); XGBoost and CatBoost document features of 32 bits.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lightgbm==4.7.0 xgboost-cpu==3.2.0 catboost==1.2.10 numpy==1.26.4 scipy==1.17.1 pandas==2.3.3 \
    scikit-learn==1.9.1

expected='z: LightGBM apart, XGBoost apart, CatBoost apart, scikit-learn apart
likelihoods of 1e-40: LightGBM equal, XGBoost apart, CatBoost apart, scikit-learn apart
likelihoods of 1e-60: LightGBM equal, XGBoost equal, CatBoost refused, scikit-learn apart
seconds of one minute: LightGBM apart, XGBoost equal, CatBoost refused, scikit-learn apart'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from catboost import CatBoostError, CatBoostRanker
from lightgbm import LGBMRanker
from sklearn.ensemble import HistGradientBoostingRegressor
from xgboost import XGBRanker

random = np.random.default_rng(0)
z = random.uniform(-1, 1, size=400)
y = (z > 0).astype(int) + (z > 0.5)
queries = np.repeat(np.arange(20), 20)
features = {
    "z": z,
    "likelihoods of 1e-40": np.exp(-92 + 3 * z),
    "likelihoods of 1e-60": np.exp(-138 + 3 * z),
    "seconds of one minute": 1_750_000_000 + np.floor(30 * z),
}
models = {
    "LightGBM": LGBMRanker(n_estimators=20, num_threads=1, verbose=-1),
    "XGBoost": XGBRanker(n_estimators=20, n_jobs=1),
    "CatBoost": CatBoostRanker(iterations=20, thread_count=1, verbose=0, allow_writing_files=False),
    "scikit-learn": HistGradientBoostingRegressor(max_iter=20),
}
options = {
    "LightGBM": {"group": [20] * 20},
    "XGBoost": {"qid": queries},
    "CatBoost": {"group_id": queries},
    "scikit-learn": {},
}
for feature, values in features.items():
    told = []
    for name, model in models.items():
        try:
            scores = model.fit(values[:, None], y, **options[name]).predict(values[:, None])
            told.append(f"{name} {'apart' if len(np.unique(scores)) > 1 else 'equal'}")
        except CatBoostError:
            told.append(f"{name} refused")
    print(f"{feature}:", ", ".join(told))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
