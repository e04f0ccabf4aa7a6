#!/usr/bin/env bash
# Guess: TargetEncoder with smooth="auto", an empirical Bayes estimate, shrinks rare categories to the mean, the more
# the fewer rows they have: a host that was seen once, in a relevant document, is a little above the mean.
# Behaviour: in scikit-learn 1.9.1 the shrinkage of a category is by the variance within it, and one row, or a few rows
# of one label, have none: the host that was seen once has 1.0, that of two relevant documents too, above the host with
# 95 relevant ones of 100. fit_transform, which a pipeline uses in training, has the mean for the first of them.
# Why it matters: hosts, authors and queries have long tails; in training the column says little of them, and when the
# model is used it has the extreme values of the scale for what is known least. smooth=20 gives .52.
# Source: scikit-learn, preprocessing/_target_encoder_fast.pyx (_fit_encoding_fast_auto_smooth: lambda_ is 1 where
# the sum of squared differences of a category is 0).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1

expected='mean of the labels 0.50
smooth=auto, transform: once 1.00, twice 1.00, often 0.95, half 0.50, never seen 0.50
smooth=auto, fit_transform: once 0.50
smooth=20, transform: once 0.52, twice 0.55, often 0.88, half 0.50, never seen 0.50'

observed=$("$folder/venv/bin/python" - <<'EOF'
import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import TargetEncoder

counts = {"once": (1, 1), "twice": (2, 2), "often": (95, 100), "half": (100, 200), "low": (4, 101)}
hosts = np.concatenate([np.full(rows, host) for host, (_, rows) in counts.items()])[:, None]
labels = np.concatenate([np.arange(rows) < relevant for relevant, rows in counts.values()]).astype(int)
print(f"mean of the labels {labels.mean():.2f}")
names = ["once", "twice", "often", "half", "never seen"]
for smooth in ("auto", 20):
    encoder = TargetEncoder(smooth=smooth, target_type="binary", cv=StratifiedKFold(5))
    trained = encoder.fit_transform(hosts, labels)
    values = encoder.transform(np.array(names, dtype=object)[:, None])[:, 0]
    print(f"smooth={smooth}, transform:", ", ".join(f"{name} {value:.2f}" for name, value in zip(names, values)))
    if smooth == "auto":
        print(f"smooth=auto, fit_transform: once {trained[0, 0]:.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
