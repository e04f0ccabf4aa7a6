#!/usr/bin/env bash
# Guess: without eval_metric, XGBRanker watches the nDCG of whole rankings, whatever its lambdarank parameters are.
# Behaviour: XGBoost 3.2.0 cuts its default measure at lambdarank_num_pair_per_sample, a parameter of the gradients:
# ndcg@32 by default, ndcg@5 with 5 pairs; with lambdarank_pair_method=mean it is the nDCG of whole rankings. An
# eval_metric of "ndcg" that is written out is never cut.
# Why it matters: a search over the number of pairs compares, and stops early on, a different measure for each value.
# Source: src/objective/lambdarank_obj.cc (DefaultEvalMetric): the metric's name takes the truncation level of topk.
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
X = random.normal(size=(2400, 5)).astype(np.float32)
y = np.digitize(X[:, 0] + random.normal(size=2400), [0.5, 1.5])
qid = np.repeat(np.arange(60), 40)
for parameters in (
    {},
    {"lambdarank_num_pair_per_sample": 5},
    {"lambdarank_num_pair_per_sample": 5, "objective": "rank:pairwise"},
    {"lambdarank_num_pair_per_sample": 5, "lambdarank_pair_method": "mean"},
    {"lambdarank_num_pair_per_sample": 5, "eval_metric": "ndcg"},
):
    ranker = xgboost.XGBRanker(n_estimators=1, n_jobs=1, **parameters)
    ranker.fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid], verbose=False)
    print(*ranker.evals_result()["validation_0"], parameters)
PYTHON
cat > expected <<'TEXT'
ndcg@32 {}
ndcg@5 {'lambdarank_num_pair_per_sample': 5}
ndcg@5 {'lambdarank_num_pair_per_sample': 5, 'objective': 'rank:pairwise'}
ndcg {'lambdarank_num_pair_per_sample': 5, 'lambdarank_pair_method': 'mean'}
ndcg {'lambdarank_num_pair_per_sample': 5, 'eval_metric': 'ndcg'}
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
