#!/usr/bin/env bash
# Guess: ROCAUC of river, the area under the ROC curve of a stream, is near the true area for calibrated probabilities,
# and tells at least which of two models is better, as its documentation says.
# Behaviour: river 0.26.1 looks at ten thresholds from 0 to 1, of which the first after 0 is 0.11. Clicks are rarer than
# that: calibrated probabilities between 0.001 and 0.1 have an area of 0.50, whether the model is right, knows nothing
# or is turned upside down, where the true areas are 0.77, 0.50 and 0.23. With rates up to 1 it is right.
# Why it matters: river is for streams such as clicks on results and advertisements, and models of these are compared by
# this area. All of them are at 0.50, or the one whose probabilities are too high wins. n_thresholds=1000 or
# RollingROCAUC see the difference.
# Source: river, metrics/roc_auc.py (n_thresholds=10; docstring of ROCAUC: the error is not significant where the
# probabilities are calibrated).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    cloudpickle==3.1.3 joblib==1.6.0 narwhals==2.29.0 numpy==2.4.6 river==0.26.1 scikit-learn==1.9.1 scipy==1.17.1 \
    threadpoolctl==3.8.0

expected='river 0.26.1
rates to 0.1, right: ROCAUC 0.50, of 1000 thresholds 0.77, true 0.77
rates to 0.1, upside down: ROCAUC 0.50, of 1000 thresholds 0.23, true 0.23
rates to 0.1, constant: ROCAUC 0.50, of 1000 thresholds 0.50, true 0.50
rates to 0.1, right, but ten times as high: ROCAUC 0.77, of 1000 thresholds 0.77, true 0.77
rates to 1, right: ROCAUC 0.87, of 1000 thresholds 0.88, true 0.88
rates to 1, upside down: ROCAUC 0.13, of 1000 thresholds 0.12, true 0.12
rates to 1, constant: ROCAUC 0.50, of 1000 thresholds 0.50, true 0.50
rates to 1, right, but ten times as high: ROCAUC 0.70, of 1000 thresholds 0.71, true 0.72'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import random
from importlib.metadata import version

from river import metrics
from sklearn.metrics import roc_auc_score

print(f"river {version('river')}")
random.seed(0)


def show(name, low, high):
    models = {"right": lambda value: value, "upside down": lambda value: low + high - value}
    models["constant"] = lambda value: (low + high) / 2
    models["right, but ten times as high"] = lambda value: min(1, 10 * value)
    rates = [random.uniform(low, high) ** 2 / high for _ in range(20000)]
    clicks = [random.random() < rate for rate in rates]
    for model, predict in models.items():
        values = [predict(rate) for rate in rates]
        areas = [metrics.ROCAUC(), metrics.ROCAUC(n_thresholds=1000)]
        for area in areas:
            for click, value in zip(clicks, values, strict=True):
                area.update(click, value)
        default, fine = (area.get() for area in areas)
        true = roc_auc_score(clicks, values)
        print(f"{name}, {model}: ROCAUC {default:.2f}, of 1000 thresholds {fine:.2f}, true {true:.2f}")


show("rates to 0.1", 0.001, 0.1)
show("rates to 1", 0.01, 1)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
