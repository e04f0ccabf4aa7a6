#!/usr/bin/env bash
# Guess: data_sample_strategy=goss, the sampling by gradients that gave LightGBM its name, samples in each round: a
# model with it is another one than without.
# Behaviour: LightGBM 4.7.0 samples nothing in the first 1 / learning_rate rounds. With a learning rate of .1 the trees
# are those of no sampling up to the 10th; with .01 and 100 trees the two models are the same to the last digit.
# Why it matters: a table that compares goss with plain boosting at a small learning rate, or one that is stopped early,
# reports that sampling costs nothing; it was never on.
# Source: LightGBM, src/boosting/goss.hpp (Bagging: no subset below 1 / learning_rate).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check lightgbm==4.7.0 numpy==2.4.6 scipy==1.17.1

expected='learning rate 0.1: the same trees up to round 10 of 100
learning rate 0.05: the same trees up to round 20 of 100
learning rate 0.01: the same trees up to round 100 of 100'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import lightgbm
import numpy as np

random = np.random.default_rng(0)
X = random.normal(size=(2000, 4))
y = np.digitize(X[:, 0] + random.normal(size=len(X)), [0, 1, 2])
groups = [50] * 40


def model(learning_rate, **sampling):
    parameters = {"objective": "lambdarank", "num_leaves": 7, "verbosity": -1, "num_threads": 1, **sampling}
    train = lightgbm.Dataset(X, y, group=groups)
    return lightgbm.train({**parameters, "learning_rate": learning_rate}, train, 100)


for learning_rate in (0.1, 0.05, 0.01):
    plain, goss = model(learning_rate), model(learning_rate, data_sample_strategy="goss")
    same = [
        np.array_equal(plain.predict(X, num_iteration=rounds), goss.predict(X, num_iteration=rounds))
        for rounds in range(1, 101)
    ]
    print(f"learning rate {learning_rate}: the same trees up to round {sum(same)} of 100")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
