#!/usr/bin/env bash
# Guess: missing=-1 of an XGBRanker is a parameter of the model: a ranker that is saved with save_model and loaded
# again scores as before.
# Behaviour: with XGBoost 3.2.0 the loaded ranker has missing=nan, and -1 is a value that is compared with thresholds:
# 239 of 1,000 rows get another score. get_booster() of the trained ranker does so, too. Pickle, or missing=-1 given
# once more, gives the scores of training.
# Why it matters: LETOR data write 0 or -1 for what is not known. The model file is what engines and other tools read,
# and they send such values down other branches than in training, without a word; the directions for missing values in
# the file are right, and never used.
# Source: XGBoost, python-package, sklearn.py: missing is an argument of the data (DMatrix), and XGBModel.save_model
# writes the booster with the type of the estimator alone. docs, Introduction to Model IO, speaks of parameters of the
# booster.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check xgboost-cpu==3.2.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1

expected='missing of the loaded ranker: nan
loaded: 239 of 1000 scores differ
loaded, with missing=-1: 0 of 1000 scores differ
of a pickle: 0 of 1000 scores differ
booster, told nothing: 239 of 1000 scores differ
booster, NaN for -1: 0 of 1000 scores differ'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import pickle
import xgboost

random = np.random.default_rng(0)
X = random.normal(size=(1000, 4)).astype(np.float32)
X[random.random(X.shape) < 0.2] = -1
y = np.digitize(X[:, 0] + 0.3 * random.normal(size=1000), [0, 1])
ranker = xgboost.XGBRanker(n_estimators=20, missing=-1.0, n_jobs=1).fit(X, y, qid=np.repeat(np.arange(50), 20))
ranker.save_model("model.json")
loaded, told = xgboost.XGBRanker(), xgboost.XGBRanker(missing=-1.0)
for copy in (loaded, told):
    copy.load_model("model.json")
print("missing of the loaded ranker:", loaded.missing)
others = {
    "loaded": loaded.predict(X),
    "loaded, with missing=-1": told.predict(X),
    "of a pickle": pickle.loads(pickle.dumps(ranker)).predict(X),
    "booster, told nothing": ranker.get_booster().inplace_predict(X),
    "booster, NaN for -1": ranker.get_booster().inplace_predict(np.where(X == -1, np.nan, X)),
}
for name, scores in others.items():
    print(f"{name}: {(~np.isclose(scores, ranker.predict(X))).sum()} of 1000 scores differ")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
