#!/usr/bin/env bash
# Guess: with lambdarank_pair_method=mean, XGBoost samples the pairs of documents at random, so that another seed gives
# another model, and a few seeds show the variance of the training.
# Behaviour: in XGBoost 3.2.0 the seed (random_state) does not reach the sampling of pairs: every seed gives the same
# model bit for bit, even with one sampled pair for each document. For sampled rows (subsample) the seed counts.
# Why it matters: repeating a comparison of rankers over seeds shows no variance at all, although pairs are sampled.
# Source: src/objective/lambdarank_obj.h (MakePairs): a query's generator starts from its number and the iteration.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1
"$work/venv/bin/pip" install -q --no-deps xgboost==3.2.0
cd "$work"
venv/bin/python - > observed <<'PYTHON'
import numpy as np
import xgboost

random = np.random.default_rng(0)
X = random.normal(size=(900, 5)).astype(np.float32)
y = np.digitize(X[:, 0] + random.normal(size=900), [0.5, 1.5])
qid = np.repeat(np.arange(60), 15)


def scores(**parameters):
    ranker = xgboost.XGBRanker(
        n_estimators=10, lambdarank_pair_method="mean", lambdarank_num_pair_per_sample=1, n_jobs=1, **parameters
    )
    return ranker.fit(X, y, qid=qid).predict(X)


first = scores(random_state=0)
seeds = [scores(random_state=seed) for seed in range(5)]
print("models of five seeds that differ:", sum(not np.array_equal(first, other) for other in seeds))
sampled = scores(random_state=0, subsample=0.5)
print("with rows sampled, the seed counts:", not np.array_equal(sampled, scores(random_state=1, subsample=0.5)))
PYTHON
cat > expected <<'TEXT'
models of five seeds that differ: 0
with rows sampled, the seed counts: True
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
