#!/usr/bin/env bash
# Guess: monotone_constraints of LightGBM hold for every model that comes of the ranker: where a higher feature may only
# raise the score, it does so after refit() on newer data and with linear_tree=True, or these are refused.
# Behaviour: in LightGBM 4.7.0 the constraint holds in a ranker as trained. Booster.refit, which gives the trees new
# leaves from other data, does not look at it: where the newer data say less, the score falls as the feature rises. With
# linear trees it holds for the splits, not for the slopes within the leaves, in the model as trained. No line warns.
# Why it matters: constraints are promises to users or law (a closer shop, a later date, a lower price is never ranked
# lower), and refit is the usual way to keep a model fresh without training it again.
# Source: LightGBM, src/boosting/gbdt.cpp (RefitTree), docs/Parameters.rst (linear_tree).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lightgbm==4.7.0 scikit-learn==1.9.1 scipy==1.17.1 numpy==2.3.5

expected='trees: the score never falls
linear trees: the score falls
trees, refit with a slope of 0: the score falls
trees, refit with a slope of -1: the score falls'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import lightgbm
import numpy as np

random = np.random.default_rng(0)
queries, documents = 60, 20
group = [documents] * queries


def data(slope):
    X = random.normal(size=(queries * documents, 4))
    return X, np.digitize(slope * X[:, 0] + 0.5 * X[:, 1] + random.normal(size=len(X)), [0.5, 1.5])


def show(name, model):
    falls = 0
    for document in random.normal(size=(20, 4)):
        line = np.repeat(document[None], 200, axis=0)
        line[:, 0] = np.linspace(-4, 4, 200)
        falls += (np.diff(model.predict(line)) < -1e-6).any()
    print(f"{name}:", "the score falls" if falls else "the score never falls")


parameters = dict(n_estimators=30, min_child_samples=5, verbose=-1, n_jobs=1, deterministic=True)
X, y = data(1)
for linear in (False, True):
    ranker = lightgbm.LGBMRanker(monotone_constraints=[1, 0, 0, 0], linear_tree=linear, **parameters)
    show("linear trees" if linear else "trees", ranker.fit(X, y, group=group))
    if not linear:
        booster = ranker.booster_
for slope in (0, -1):
    new_X, new_y = data(slope)
    show(f"trees, refit with a slope of {slope}", booster.refit(new_X, new_y, decay_rate=0.5, group=group))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
