#!/usr/bin/env bash
# Guess: predict() of an NGBoost model that was stopped early uses the best iteration, as the estimators of LightGBM,
# XGBoost and CatBoost do.
# Behaviour: NGBoost 0.5.4 keeps the number of the best iteration (best_val_loss_itr) and predicts with all trees that
# were trained: with early_stopping_rounds=20 also those of the rounds that made it worse. On 300 documents the loss on
# the validation data is .77 at the best iteration and 1.02 for what predict() and pred_dist() return, whose intervals
# of 95 % hold 79 % of the labels in place of 96 %. More patience makes it worse.
# Why it matters: what is to find the best model adds overfitting to it, and figures do not match the loss printed.
# Source: ngboost, ngboost.py (fit, pred_param: max_iter=None takes all base models).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ngboost==0.5.4 numpy==1.26.4 scipy==1.15.3 scikit-learn==1.5.2 lifelines==0.30.0 pandas==2.2.3

expected='patience 5: best iteration 11 of 17, loss 0.77, predicted 0.79; labels in intervals: 96%, predicted 92%
patience 20: best iteration 11 of 32, loss 0.77, predicted 1.02; labels in intervals: 96%, predicted 79%
patience 50: best iteration 11 of 62, loss 0.77, predicted 1.73; labels in intervals: 96%, predicted 68%'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from ngboost import NGBRegressor
from sklearn.tree import DecisionTreeRegressor

random = np.random.default_rng(0)


def documents(number):
    features = random.random((number, 5))
    return features, features[:, 0] + random.normal(0.0, 0.5, number)


features, labels = documents(300)
held_out, held_out_labels = documents(300)
for patience in (5, 20, 50):
    tree = DecisionTreeRegressor(criterion="friedman_mse", max_depth=3, random_state=0)  # the default, but for its seed
    model = NGBRegressor(Base=tree, n_estimators=500, learning_rate=0.1, verbose=False, random_state=0)
    model.fit(features, labels, X_val=held_out, Y_val=held_out_labels, early_stopping_rounds=patience)
    predicted = model.pred_dist(held_out)
    best = model.pred_dist(held_out, max_iter=model.best_val_loss_itr)
    inside = [np.mean(np.abs(held_out_labels - each.loc) < 1.96 * each.scale) for each in (best, predicted)]
    print(f"patience {patience}: best iteration {model.best_val_loss_itr} of {len(model.base_models)}, loss "
          f"{-best.logpdf(held_out_labels).mean():.2f}, predicted {-predicted.logpdf(held_out_labels).mean():.2f}; "
          f"labels in intervals: {inside[0]:.0%}, predicted {inside[1]:.0%}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
