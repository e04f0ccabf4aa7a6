#!/usr/bin/env bash
# Guess: pred_early_stop, which LightGBM offers for ranking, ends the prediction of documents that cannot reach the
# top of their query any more; scores of the first documents stay.
# Behaviour: in LightGBM 4.7.0 the rule for a ranker is that of two classes: every tenth tree, a document whose score
# so far is further than half of the margin (10) from zero gets no more trees. Zero means nothing in a ranking: the
# documents that lead are cut first, by the same rule as the last. Of 1,000 documents 526 get another score after 100
# trees (after 50 none), and another document comes first in 13 of 50 queries. Regression is left alone.
# Why it matters: the option is set for speed in services, with no warning; the order changes at the top, and more so
# the longer a model was trained. Scores of one query then come from different numbers of trees.
# Source: LightGBM, src/application/predictor.hpp, takes the rule of binary classification where an objective does not
# NeedAccuratePrediction, which rank_objective.hpp does not; src/boosting/prediction_early_stop.cpp has twice the
# absolute score beside the margin. docs, Parameters: pred_early_stop is for classification and ranking.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check lightgbm==4.7.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1

expected='ranking, 50 trees: 0 of 1000 scores differ, 0 of 50 first documents
ranking, 100 trees: 526 of 1000 scores differ, 13 of 50 first documents
  least distance from zero of those: 5.0
regression, 100 trees: 0 of 1000 scores differ, 0 of 50 first documents'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import lightgbm
import numpy as np

random = np.random.default_rng(0)
X = np.round(random.normal(size=(1000, 4)), 3)
y = np.digitize(X[:, 0] + 0.3 * random.normal(size=1000), [0, 1])


def compare(name, model):
    whole, short = model.predict(X), model.predict(X, pred_early_stop=True)
    other = ~np.isclose(whole, short)
    first = sum(whole[at : at + 20].argmax() != short[at : at + 20].argmax() for at in range(0, 1000, 20))
    print(f"{name}: {other.sum()} of 1000 scores differ, {first} of 50 first documents")
    if other.any():
        print(f"  least distance from zero of those: {abs(short[other]).min():.1f}")


for n_trees in (50, 100):
    ranker = lightgbm.LGBMRanker(n_estimators=n_trees, verbosity=-1, n_jobs=1, deterministic=True)
    compare(f"ranking, {n_trees} trees", ranker.fit(X, y, group=[20] * 50))
shifted = lightgbm.train({"objective": "regression", "verbosity": -1, "num_threads": 1}, lightgbm.Dataset(X, 10 * y), 100)
compare("regression, 100 trees", shifted)
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
