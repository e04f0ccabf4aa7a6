#!/usr/bin/env bash
# Guess: "ndcg@10", the name that LightGBM prints, is a name that it takes: metric="ndcg@10" gives nDCG@10, as in
# XGBoost, and a name that it does not know is an error.
# Behaviour: LightGBM 4.7.0 ignores such a name without a warning. LGBMRanker.fit(eval_metric="ndcg@10") reports, and
# stops on, ndcg@1 to ndcg@5; train(metric="ndcg@10") measures nothing. Cutoffs come from eval_at only.
# Why it matters: rankers are stopped early and compared on other cutoffs than the script says.
# Source: src/metric/metric.cpp, Metric::CreateMetric: an unknown name is no metric; include/LightGBM/config.h, eval_at.
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
X = random.normal(size=(600, 3))
y = np.digitize(X[:, 0] + random.normal(size=600), [0.5, 1.5])
groups = [20] * 15
data = {"group": groups, "eval_set": [(X[300:], y[300:])], "eval_group": [groups]}
for arguments in ({"eval_metric": "ndcg@10"}, {"eval_metric": "map@10"}, {"eval_metric": "ndcg", "eval_at": [10]}):
    ranker = lightgbm.LGBMRanker(n_estimators=2, verbosity=-1)
    ranker.fit(X[:300], y[:300], **data, **arguments)
    print(arguments, *ranker.evals_result_["valid_0"])
for metric in ("ndcg@10", "no such metric"):
    figures = {}
    train = lightgbm.Dataset(X[:300], y[:300], group=groups)
    valid = train.create_valid(X[300:], y[300:], group=groups)
    parameters = {"objective": "lambdarank", "metric": metric, "verbosity": -1}
    lightgbm.train(parameters, train, 2, [valid], callbacks=[lightgbm.record_evaluation(figures)])
    print(metric, figures)
PYTHON
cat > expected <<'TEXT'
{'eval_metric': 'ndcg@10'} ndcg@1 ndcg@2 ndcg@3 ndcg@4 ndcg@5
{'eval_metric': 'map@10'} ndcg@1 ndcg@2 ndcg@3 ndcg@4 ndcg@5
{'eval_metric': 'ndcg', 'eval_at': [10]} ndcg@10
ndcg@10 {}
no such metric {}
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
