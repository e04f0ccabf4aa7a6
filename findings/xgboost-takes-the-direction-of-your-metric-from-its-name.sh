#!/usr/bin/env bash
# Guess: a function as eval_metric of XGBRanker is a loss unless one says otherwise, whatever it is called, as the
# documentation of eval_metric says (it is minimised); or a ranker maximises it, as it does its own measures.
# Behaviour: in XGBoost 3.2.0 early stopping looks at the name of the function: where it begins with the name of one
# of its own measures that are maximised (pre, map, ndcg, auc and others), so is yours. One and the same function
# stops after 7 rounds as top_ndcg or correlation and after 17 as ndcg_top; a loss that is called preference_loss is
# maximised, since it begins with pre.
# Why it matters: a measure of relevance with another name (mrr, hit_rate, top_ndcg) stops the training at its first
# fall, with a model of two trees; the rename of a function changes the model. Nothing is said.
# Source: XGBoost, python-package, callback.py, EarlyStopping._update_rounds: without maximize, the name of the metric
# up to @ is compared by startswith with a list of measures.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check xgboost-cpu==3.2.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1

expected='correlation: best is the lowest of 7 figures
top_ndcg: best is the lowest of 7 figures
mrr: best is the lowest of 7 figures
ndcg_top: best is the highest of 17 figures
precision_at_1: best is the highest of 17 figures
preference_loss: best is the highest of 17 figures'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import xgboost

random = np.random.default_rng(0)
X = random.normal(size=(1000, 4))
y = np.digitize(X[:, 0] + 0.3 * random.normal(size=1000), [0, 1])
qid = np.repeat(np.arange(50), 20)

for name in ("correlation", "top_ndcg", "mrr", "ndcg_top", "precision_at_1", "preference_loss"):

    def metric(labels, scores):
        return float(np.corrcoef(labels, scores)[0, 1])

    metric.__name__ = name
    ranker = xgboost.XGBRanker(n_estimators=100, early_stopping_rounds=5, eval_metric=metric, n_jobs=1)
    valid = {"eval_set": [(X[700:], y[700:])], "eval_qid": [qid[700:]], "verbose": False}
    ranker.fit(X[:700], y[:700], qid=qid[:700], **valid)
    seen = ranker.evals_result()["validation_0"][name]
    direction = "highest" if ranker.best_iteration == int(np.argmax(seen)) else "lowest"
    print(f"{name}: best is the {direction} of {len(seen)} figures")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
