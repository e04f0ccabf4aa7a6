#!/usr/bin/env bash
# Guess: Dataset.save_binary keeps all that a Dataset holds besides the features: labels, queries, weights, initial
# scores, positions.
# Behaviour: in LightGBM 4.7.0 labels, queries and weights come back; initial scores and positions do not. Training
# from the file equals training that never had them, bit for bit.
# Why it matters: a warm start (the base ranker's scores) and the correction of position bias are lost between two
# runs of the same script, the second of which is faster.
# Source: LightGBM, src/io/metadata.cpp (SaveBinaryToFile writes label, weights and query boundaries).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lightgbm==4.7.0 numpy==2.4.6 scipy==1.17.1

expected='kept: label group weight
equal to training with them: False
equal to training without them: True'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import lightgbm
import numpy as np

random = np.random.default_rng(0)
X = random.normal(size=(400, 5))
y = random.integers(0, 3, 400)
held = {"group": [20] * 20, "weight": random.random(400)}
lost = {"init_score": random.normal(size=400), "position": np.tile(np.arange(20), 20)}
train = {"objective": "lambdarank", "num_leaves": 5, "verbose": -1, "num_threads": 1}


def dataset(data, **fields):
    return lightgbm.Dataset(data, None if fields == {} else y, params={"verbose": -1}, **fields)


def scores(data):
    return lightgbm.train(train, data, 10).predict(X, raw_score=True)


dataset(X, **held, **lost).construct().save_binary("data.bin")
read = dataset("data.bin").construct()
names = ("label", "group", "weight", "init_score", "position")
print("kept:", *(name for name in names if read.get_field(name) is not None))
from_file = scores(dataset("data.bin"))
print("equal to training with them:", bool((from_file == scores(dataset(X, **held, **lost))).all()))
print("equal to training without them:", bool((from_file == scores(dataset(X, **held))).all()))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
