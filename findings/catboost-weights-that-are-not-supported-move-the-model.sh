#!/usr/bin/env bash
# Guess: CatBoost prints that pairwise losses do not support weights of objects, so a Pool with them trains the
# model of a Pool without.
# Behaviour: in CatBoost 1.2.10 the line is printed, and the predictions of PairLogit and YetiRank change with the
# weights; of PairLogit also where all weights are 2.
# Why it matters: weights of documents (propensities of clicks, trust in a judge) are believed to be ignored, and
# two runs are thought to be equal that are not.
# Source: the line that CatBoost prints while it trains, beside the predictions below.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    catboost==1.2.10 numpy==2.4.6 scipy==1.17.1 pandas==2.3.3

expected='PairLogit ones: equal, twos: moved, random: moved
YetiRank ones: equal, twos: equal, random: moved'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from catboost import CatBoost, Pool

random = np.random.default_rng(0)
X = random.normal(size=(400, 4))
y = random.integers(0, 3, 400)
queries = np.repeat(np.arange(20), 20)


def scores(loss, weight):
    settings = {"iterations": 20, "depth": 3, "random_seed": 1, "thread_count": 1, "allow_writing_files": False}
    model = CatBoost({**settings, "loss_function": loss, "logging_level": "Silent"})
    return model.fit(Pool(X, y, group_id=queries, weight=weight)).predict(X)


weights = {"ones": np.ones(400), "twos": np.full(400, 2.0), "random": 0.1 + random.random(400)}
for loss in ("PairLogit", "YetiRank"):
    without = scores(loss, None)
    moved = {name: (scores(loss, weight) != without).any() for name, weight in weights.items()}
    print(loss, ", ".join(f"{name}: {'moved' if each else 'equal'}" for name, each in moved.items()))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
