#!/usr/bin/env bash
# Guess: rank_xendcg refuses labels with fractions, as lambdarank does, or uses them.
# Behaviour: in LightGBM 4.7.0 it is the metric nDCG that refuses them. Without it (metric="None" or a function as
# metric), rank_xendcg trains on the whole part of each label: 0.9 is 0. Labels that are all below 1, such as click
# rates, are all the same to it, and it still learns something from its random numbers.
# Why it matters: a ranker for graded rates is trained on noise, without any message.
# Source: src/objective/rank_objective.hpp, RankXENDCG: the label is cast to int for the power of two; only
# LambdarankNDCG and the nDCG metric call DCGCalculator::CheckLabel.
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
X = random.normal(size=(3000, 4))
rate = 1 / (1 + np.exp(-2 * X[:, 0]))  # 0 to 1: the first feature orders the documents perfectly


def scores(labels, **parameters):
    ranker = lightgbm.LGBMRanker(n_estimators=10, verbosity=-1, n_jobs=1, **parameters)
    return ranker.fit(X, labels, group=[20] * 150).predict(X)


for parameters in ({"objective": "rank_xendcg"}, {"objective": "lambdarank", "metric": "None"}):
    try:
        scores(rate, **parameters)
    except lightgbm.basic.LightGBMError as error:
        print(parameters, str(error).partition(" (")[0])
own = {"objective": "rank_xendcg", "metric": "None"}
print(own, "trains; the same as on zeros:", np.array_equal(scores(rate, **own), scores(np.zeros(3000), **own)))
print("it scores the documents apart:", bool(np.ptp(scores(rate, **own)) > 0.01))
print("correlation with the rate: above 0.5:", bool(np.corrcoef(scores(rate, **own), rate)[0, 1] > 0.5))
print("labels 1 and 1.9 are one:", np.array_equal(scores(1 + rate, **own), scores(np.ones(3000), **own)))
PYTHON
cat > expected <<'TEXT'
{'objective': 'rank_xendcg'} label should be int type
{'objective': 'lambdarank', 'metric': 'None'} label should be int type
{'objective': 'rank_xendcg', 'metric': 'None'} trains; the same as on zeros: True
it scores the documents apart: True
correlation with the rate: above 0.5: False
labels 1 and 1.9 are one: True
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
