#!/usr/bin/env bash
# Guess: the columns of predict(pred_contrib=True) add up to the raw score, as LightGBM's documentation says.
# Behaviour: with boosting_type=rf, LightGBM 4.7.0 averages the trees in predict() but sums them in pred_contrib: the
# contributions add up to the number of trees times the score, and the expected value is as many times too high.
# Why it matters: explanations of a ranker by a random forest are off by a factor of 100 for 100 trees, which shows only
# where one adds them up; contributions of two forests of different sizes cannot be compared.
# Source: src/boosting/gbdt.cpp, PredictContrib: unlike Predict in gbdt_prediction.cpp it has no division for
# average_output.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q lightgbm==4.7.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1
cd "$work"
venv/bin/python - > observed <<'PYTHON'
import lightgbm
import numpy as np

random = np.random.default_rng(0)
X = random.normal(size=(600, 4))
y = np.digitize(X[:, 0] + random.normal(size=600), [0.5, 1.5])
for boosting, n_trees in (("gbdt", 10), ("rf", 10), ("rf", 25)):
    ranker = lightgbm.LGBMRanker(
        boosting_type=boosting, n_estimators=n_trees, subsample=0.7, subsample_freq=1, verbosity=-1, n_jobs=1
    )
    ranker.fit(X, y, group=[20] * 30)
    ratio = ranker.predict(X, pred_contrib=True).sum(axis=1) / ranker.predict(X)
    print(boosting, n_trees, "trees: contributions are", round(float(np.median(ratio)), 4), "times the score")
PYTHON
cat > expected <<'TEXT'
gbdt 10 trees: contributions are 1.0 times the score
rf 10 trees: contributions are 10.0 times the score
rf 25 trees: contributions are 25.0 times the score
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
