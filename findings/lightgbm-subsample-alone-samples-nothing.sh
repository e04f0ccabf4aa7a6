#!/usr/bin/env bash
# Guess: subsample=0.5 grows each tree of a ranker from half of the rows, as it does in XGBoost.
# Behaviour: in LightGBM 4.7.0, subsample (bagging_fraction) needs subsample_freq (bagging_freq) above its default of
# 0: without it, five values of subsample give one model, bit for bit and without a word. With subsample_freq=1, they
# give five.
# Why it matters: a search over parameters that has subsample alone tries the same model again and again, and the value
# that it publishes as the best means nothing.
# Source: LightGBM, docs/Parameters.rst (bagging_fraction: bagging_freq "should be set to a non zero value as well").

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lightgbm==4.7.0 numpy==1.26.4 scipy==1.17.1 scikit-learn==1.9.1

expected='models of five values of subsample: 1
with subsample_freq=1: 5'

observed=$("$folder/venv/bin/python" - <<'EOF'
import lightgbm
import numpy as np

random = np.random.default_rng(0)
X = random.normal(size=(900, 5))
y = np.digitize(X[:, 0] + random.normal(size=900), [0.5, 1.5])


def models(**parameters):
    scores = set()
    for value in (0.4, 0.5, 0.6, 0.8, 1.0):
        ranker = lightgbm.LGBMRanker(n_estimators=10, verbose=-1, n_jobs=1, subsample=value, **parameters)
        scores.add(ranker.fit(X, y, group=[15] * 60).predict(X).tobytes())
    return len(scores)


print("models of five values of subsample:", models())
print("with subsample_freq=1:", models(subsample_freq=1))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
