#!/usr/bin/env bash
# Guess: trees look at the order of a feature's values alone: adding 10 to each value of a column, in training and in
# prediction, changes no score.
# Behaviour: LightGBM 4.7.0 makes the bins of values below zero, of zero and of values above it apart, and gives each
# side its share of max_bin. With another constant the bounds of the bins are others, and so are trees, scores and nDCG,
# at 255 bins and all the more at 15; from where all values have one sign, the model stays the same. Multiplying changes
# nothing.
# Why it matters: log probabilities, standardised features and similarities have zero somewhere; whether a feature is
# standardised, which is said not to matter for trees, moves figures by as much as a new feature does.
# Source: LightGBM, src/io/bin.cpp (FindBinWithZeroAsOneBin).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check lightgbm==4.7.0 numpy==2.4.6 scipy==1.17.1

expected='255 bins: as it is same, plus 1 other, plus 10 other, plus 100 other, times 10 same,
  plus 10 and plus 100 the same: True; nDCG@5 of plus 10 is another: True
15 bins: as it is same, plus 1 other, plus 10 other, plus 100 other, times 10 same,
  plus 10 and plus 100 the same: True; nDCG@5 of plus 10 is another: True'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import lightgbm
import numpy as np

random = np.random.default_rng(0)
QUERIES, SIZE = 40, 50
X = random.normal(size=(2 * QUERIES * SIZE, 4))
y = np.digitize(X[:, 0] + random.normal(size=len(X)), [0, 1, 2])
half = QUERIES * SIZE


def ndcg(scores):
    order = np.argsort(-scores.reshape(QUERIES, SIZE), axis=1, kind="stable")[:, :5]
    gains = 2.0 ** y[half:].reshape(QUERIES, SIZE) - 1
    discounts = 1 / np.log2(np.arange(2, 7))
    ideal = -np.sort(-gains, axis=1)[:, :5] @ discounts
    return np.mean(np.take_along_axis(gains, order, axis=1) @ discounts / ideal)


def scores(change, bins):
    parameters = {"objective": "lambdarank", "num_leaves": 7, "max_bin": bins, "verbosity": -1, "num_threads": 1}
    train = lightgbm.Dataset(change(X[:half]), y[:half], group=[SIZE] * QUERIES)
    return lightgbm.train(parameters, train, 20).predict(change(X[half:]))


changes = {
    "as it is": lambda X: X,
    "plus 1": lambda X: X + 1,
    "plus 10": lambda X: X + 10,
    "plus 100": lambda X: X + 100,
    "times 10": lambda X: X * 10,
}
for bins in (255, 15):
    first = scores(changes["as it is"], bins)
    same = {name: np.allclose(scores(change, bins), first) for name, change in changes.items()}
    print(f"{bins} bins:", *(f"{name} {'same' if value else 'other'}," for name, value in same.items()))
    tens = np.allclose(scores(changes["plus 10"], bins), scores(changes["plus 100"], bins))
    differ = ndcg(scores(changes["plus 10"], bins)) != ndcg(scores(changes["as it is"], bins))
    print(f"  plus 10 and plus 100 the same: {tens}; nDCG@5 of plus 10 is another: {differ}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
