#!/usr/bin/env bash
# Guess: with eval_at=[1, 10] early stopping goes on while one of the two figures improves, or follows the last one,
# as in XGBoost.
# Behaviour: in LightGBM 4.7.0 training ends as soon as any figure of any set has not improved for N rounds, and
# best_iteration_ is the best of that figure alone: adding a cutoff can only shorten the training.
# Why it matters: nDCG@1 is noisy and stagnates early; a model that is reported at 10 has the number of trees that
# was best at 1.
# Source: LightGBM, callback.py (_EarlyStoppingCallback; first_metric_only=False). That XGBoost follows the last one is
# what its documentation says (early_stopping_rounds); it is not run here.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lightgbm==4.7.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1

expected='True True'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import lightgbm
import numpy as np

random = np.random.default_rng(1)
n_queries = 60


def sample():
    X = random.normal(size=(n_queries * 20, 5))
    return X, np.clip(np.round(X[:, 0] + 1.5 * random.normal(size=len(X)) + 1), 0, 4).astype(int)


(X, y), (X_valid, y_valid) = sample(), sample()
groups = [20] * n_queries


def trained(eval_at):
    model = lightgbm.LGBMRanker(n_estimators=200, verbose=-1, n_jobs=1)
    stop = lightgbm.early_stopping(10, verbose=False)
    valid = {"eval_set": [(X_valid, y_valid)], "eval_group": [groups], "eval_at": eval_at}
    model.fit(X, y, group=groups, callbacks=[stop], **valid)
    return model.best_iteration_, len(model.evals_result_["valid_0"][f"ndcg@{eval_at[0]}"])


ends = {str(eval_at): trained(eval_at) for eval_at in ([1], [5], [1, 5])}
print(ends["[1]"] != ends["[5]"], ends["[1, 5]"] == min(ends["[1]"], ends["[5]"], key=lambda end: end[1]))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
