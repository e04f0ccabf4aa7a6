#!/usr/bin/env bash
# Guess: XGBRanker.fit(xgb_model=first) adds trees to a first model, and predict() of the new ranker uses all of them.
# Behaviour: XGBoost 3.2.0 copies the booster's attribute best_iteration along with the trees. If the first model was
# stopped early and the second is not, best_iteration still names a round of the first one, and predict() of the new
# ranker ends there: none of the new trees is used. The plain Booster uses all of them.
# Why it matters: a ranker that is updated on new judgements (warm start) silently scores as before the update.
# Source: xgboost/sklearn.py, XGBModel._get_iteration_range: it ends at best_iteration whenever the booster has one; the
# early-stopping callback sets the attribute, and a later training without that callback does not remove it.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1
"$work/venv/bin/pip" install -q --no-deps xgboost==3.2.0
cd "$work"
venv/bin/python - > observed <<'PYTHON'
import numpy as np
import xgboost

random = np.random.default_rng(0)
X = random.normal(size=(900, 5)).astype(np.float32)
y = np.digitize(X[:, 0] + random.normal(size=900), [0.5, 1.5])
qid = np.repeat(np.arange(60), 15)
train, valid = qid < 30, qid >= 30

first = xgboost.XGBRanker(n_estimators=60, early_stopping_rounds=5, n_jobs=1)
first.fit(X[train], y[train], qid=qid[train], eval_set=[(X[valid], y[valid])], eval_qid=[qid[valid]], verbose=False)
second = xgboost.XGBRanker(n_estimators=20, n_jobs=1)
second.fit(X[valid], y[valid], qid=qid[valid], xgb_model=first)
booster = second.get_booster()
added = booster.num_boosted_rounds() - first.get_booster().num_boosted_rounds()
print("rounds added:", added)
print("ranker predicts what it did before:", np.array_equal(second.predict(X), first.predict(X)))
print("booster predicts what the ranker does:", np.allclose(booster.inplace_predict(X), second.predict(X)))
booster.set_attr(best_iteration=None)
print("without the attribute:", np.allclose(booster.inplace_predict(X), second.predict(X)))
PYTHON
cat > expected <<'TEXT'
rounds added: 20
ranker predicts what it did before: True
booster predicts what the ranker does: False
without the attribute: True
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
