#!/usr/bin/env bash
# Guess: treelite.frontend.from_lightgbm gives LightGBM's scores, or refuses a model that it cannot represent.
# Behaviour: Treelite 4.8.1 takes a model with zero_as_missing=true without a word, but compares 0 with the thresholds
# like any number, while LightGBM sends it the way of missing values. Scores of rows with zeros are wrong. A
# NaN gets the same wrong score as a zero.
# Why it matters: features of text matches are mostly 0, and a converted ranker then orders documents in another way.
# Source: LightGBM's model file says in each node's decision_type what is missing; src/model_loader/lightgbm.cc has
# its own default direction, 0 <= threshold, for all kinds but NaN.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q lightgbm==4.7.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1
"$work/venv/bin/pip" install -q treelite==4.8.1
cd "$work"
venv/bin/python - > observed <<'PYTHON'
import lightgbm
import numpy as np
import treelite

random = np.random.default_rng(0)
X = random.normal(size=(900, 4)).astype(np.float32)
X[random.random(X.shape) < 0.3] = 0
y = np.digitize(X[:, 0] + X[:, 1] + random.normal(size=900), [0.5, 1.5])
no_zero = (X != 0).all(axis=1)
for parameter in (False, True):
    ranker = lightgbm.LGBMRanker(n_estimators=20, zero_as_missing=parameter, verbosity=-1, n_jobs=1)
    ranker.fit(X, y, group=[15] * 60)
    model = treelite.frontend.from_lightgbm(ranker.booster_)

    def differ(rows, as_nan=False):
        values = np.where(rows == 0, np.nan, rows) if as_nan else rows
        scores = treelite.gtil.predict(model, values.astype(np.float64)).ravel()
        return bool(np.abs(scores - ranker.predict(rows)).max() > 0.01)

    print("zero_as_missing:", parameter)
    print("  rows with zeros differ:", differ(X[~no_zero]))
    print("  rows without zeros differ:", differ(X[no_zero]))
    if parameter:
        print("  zeros written as NaN differ:", differ(X[~no_zero], True))
PYTHON
cat > expected <<'TEXT'
zero_as_missing: False
  rows with zeros differ: False
  rows without zeros differ: False
zero_as_missing: True
  rows with zeros differ: True
  rows without zeros differ: False
  zeros written as NaN differ: True
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
