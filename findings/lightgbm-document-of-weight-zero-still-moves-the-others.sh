#!/usr/bin/env bash
# Guess: a document of weight 0 takes no part in the training of an LGBMRanker, as if its row was not there; pairs with
# it have weight 0.
# Behaviour: in LightGBM 4.7.0 all pairs have weight 1. The gradient of a document is summed over its pairs first, and
# then multiplied by the weight of its own row: a document of weight 0 pushes all others as before, only the answering
# push on itself is dropped. Gradients of a query no longer add up to 0.
# Why it matters: weights cannot take unjudged documents out; where all non-relevant documents have weight 0, all scores
# rise to the same constant, although without these rows there is nothing to learn.
# Source: src/objective/rank_objective.hpp, RankingObjective::GetGradients: weights are applied after the pairs.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q lightgbm==4.7.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1
cd "$work"
venv/bin/python - > observed <<'PYTHON'
import lightgbm
import numpy as np

random = np.random.default_rng(0)
X = random.normal(size=(900, 1))
relevant = X[:, 0] + random.normal(size=900) > 0


def scores(rows, weights):
    sizes = np.add.reduceat(rows.astype(int), np.arange(0, 900, 15))
    ranker = lightgbm.LGBMRanker(n_estimators=1, learning_rate=1, verbosity=-1, n_jobs=1)
    ranker.fit(X[rows], relevant[rows].astype(int), group=sizes[sizes > 0], sample_weight=weights[rows])
    return ranker.predict([[-1], [0], [1]]).round(3).tolist()


everything = np.ones(900, dtype=bool)
print("relevant documents only:", scores(relevant, np.ones(900)))
print("others with weight 0:", scores(everything, relevant.astype(float)))
print("relevant documents with weight 0:", scores(everything, (~relevant).astype(float)))
rising = scores(everything, np.ones(900))
print("all with weight 1, scores rise:", rising == sorted(rising) and rising[0] < 0 < rising[2])
PYTHON
cat > expected <<'TEXT'
relevant documents only: [0.0, 0.0, 0.0]
others with weight 0: [2.0, 2.0, 2.0]
relevant documents with weight 0: [-2.0, -2.0, -2.0]
all with weight 1, scores rise: True
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
