#!/usr/bin/env bash
# Guess: after early stopping, eland exports the model whose scores XGBRanker.predict gives.
# Behaviour: eland 9.2.0 exports all trees, also those after the best iteration, which XGBRanker.predict leaves out. It
# adds a base score of 0.5 where none was given, although the base score of XGBoost 3.2.0's rankers is 0.
# Why it matters: Elasticsearch ranks with the rounds that early stopping tried and rejected, and not with the model
# that was evaluated.
# Source: eland/ml/transformers/xgboost.py: the booster's trees_to_dataframe lists all trees, and XGBoostRegressor-
# Transformer replaces a base score of None by 0.5.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q eland==9.2.0 elasticsearch==9.5.1 numpy==2.4.6 scipy==1.17.1 pandas==2.3.3 \
  scikit-learn==1.9.1
"$work/venv/bin/pip" install -q --no-deps xgboost==3.2.0
cd "$work"
venv/bin/python - > observed <<'PYTHON'
import numpy as np
import xgboost
from eland.ml.transformers import get_model_transformer

random = np.random.default_rng(0)
X = random.normal(size=(900, 4)).astype(np.float32)
y = np.digitize(X[:, 0] + random.normal(size=900), [0.5, 1.5])
train, valid = {"group": [15] * 30}, {"eval_set": [(X[450:], y[450:])], "eval_group": [[15] * 30]}
ranker = xgboost.XGBRanker(n_estimators=100, max_depth=3, early_stopping_rounds=7, n_jobs=1)
ranker.fit(X[:450], y[:450], **train, **valid, verbose=False)
model = get_model_transformer(ranker, feature_names=list("abcd")).transform().to_dict()["ensemble"]
exported = [tree["tree"]["tree_structure"] for tree in model["trained_models"]]
constants = [tree[0]["leaf_value"] for tree in exported if len(tree) == 1]


def score(row):
    total = 0.0
    for tree in exported:
        node = tree[0]
        while "leaf_value" not in node:
            side = "left_child" if row[node["split_feature"]] < node["threshold"] else "right_child"
            node = tree[node[side]]
        total += np.ravel(node["leaf_value"])[0]
    return total


scores, used = np.array([score(row) for row in X[450:]]), ranker.best_iteration + 1
print("trees that are exported and not used by predict:", len(exported) - len(constants) - used)
print("constants:", [float(np.ravel(value)[0]) for value in constants])
order = sum(np.argmax(scores[a : a + 15]) != np.argmax(ranker.predict(X[450:])[a : a + 15]) for a in range(0, 450, 15))
print("queries with another first document:", "some" if order else "none")
PYTHON
cat > expected <<'TEXT'
trees that are exported and not used by predict: 7
constants: [0.5]
queries with another first document: some
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
