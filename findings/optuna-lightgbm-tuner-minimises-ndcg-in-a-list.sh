#!/usr/bin/env bash
# Guess: optuna's LightGBMTuner maximises nDCG for metric=["ndcg"] as for metric="ndcg".
# Behaviour: optuna-integration 5.0.0 looks a list up in a set of names, does not find it, and minimises: of all trials
# it takes the one with the worst nDCG, also for metric=["map", "ndcg"]. Where no study is given, nothing warns of it.
# Why it matters: LightGBM takes lists of metrics, so a tuned ranker is the worst one that was found.
# Source: optuna_integration/lightgbm/_lightgbm_tuner/optimize.py, _BaseTuner.higher_is_better.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q optuna==5.0.0 optuna-integration==5.0.0 lightgbm==4.7.0 numpy==2.4.6 scipy==1.17.1 \
  scikit-learn==1.9.1 pandas==3.1.1
cd "$work"
venv/bin/python - > observed <<'PYTHON'
import lightgbm
import numpy as np
import optuna
from optuna_integration.lightgbm import LightGBMTuner

optuna.logging.set_verbosity(optuna.logging.ERROR)
random = np.random.default_rng(0)
X = random.normal(size=(600, 4))
y = np.digitize(X[:, 0] + random.normal(size=600), [0.5, 1.5])
for metric in ("ndcg", ["ndcg"], ["map", "ndcg"], ["ndcg", "map"]):
    train = lightgbm.Dataset(X[:300], y[:300], group=[15] * 20, free_raw_data=False)
    valid = train.create_valid(X[300:], y[300:], group=[15] * 20)
    parameters = {"objective": "lambdarank", "metric": metric, "eval_at": [10], "verbosity": -1, "num_threads": 1}
    tuner = LightGBMTuner(
        parameters, train, num_boost_round=20, valid_sets=[valid], optuna_seed=0, show_progress_bar=False
    )
    tuner.tune_feature_fraction(n_trials=5)
    figures = [trial.value for trial in tuner.study.trials]
    chosen = {max(figures): "highest", min(figures): "lowest"}.get(tuner.best_score, "other")
    print(metric, "chosen figure:", chosen, "of", len(set(figures)), "different ones")
PYTHON
cat > expected <<'TEXT'
ndcg chosen figure: highest of 3 different ones
['ndcg'] chosen figure: lowest of 3 different ones
['map', 'ndcg'] chosen figure: lowest of 3 different ones
['ndcg', 'map'] chosen figure: lowest of 3 different ones
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
