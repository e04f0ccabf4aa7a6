#!/usr/bin/env bash
# Guess: convert_xgboost of onnxmltools gives a graph with the scores of a ranker (get_booster() of an XGBRanker,
# which itself is refused), as it does for a regressor.
# Behaviour: onnxmltools 1.16.0 guesses: where the objective does not begin with reg: (nor is count:poisson) and the
# covers of the trees, sums of second derivatives, are not all whole numbers, it writes a classifier of two classes.
# rank:ndcg then has the class 0 and NaN as probabilities for all rows, rank:pairwise the probabilities 0 and 1: no
# order is left. A regressor on the same data has the scores of XGBoost. No message is printed.
# Why it matters: the graph is valid and runs everywhere; what it ranks by is constant, and documents stay in the
# order of the first stage.
# Source: onnxmltools, convert/xgboost/_parse.py: _get_attributes tells regression from classification by the
# objective and the covers, and WrappedBooster is an XGBClassifier in all other cases.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check xgboost-cpu==3.2.0 onnxmltools==1.16.0 onnx==1.23.2 onnxruntime==1.32.0 skl2onnx==1.20.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1

expected='rank:ndcg: TreeEnsembleClassifier, 0 of 1000 scores, 1 different values
rank:pairwise: TreeEnsembleClassifier, 0 of 1000 scores, 1 different values
reg:squarederror: TreeEnsembleRegressor, 1000 of 1000 scores, 867 different values'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import onnxruntime
import xgboost
from onnxmltools import convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType

random = np.random.default_rng(0)
X = np.round(random.normal(size=(1000, 4)), 3).astype(np.float32)
y = np.digitize(X[:, 0] + 0.3 * random.normal(size=1000), [0, 1])
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
for objective in ("rank:ndcg", "rank:pairwise", "reg:squarederror"):
    data = xgboost.DMatrix(X, y, qid=np.repeat(np.arange(50), 20))
    booster = xgboost.train({"objective": objective, "nthread": 1}, data, 20)
    graph = convert_xgboost(booster, initial_types=[("x", FloatTensorType([None, 4]))])
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options)
    last = session.run(None, {"x": X})[-1][:, -1]
    same = np.isclose(last, booster.predict(data), atol=1e-4).sum()
    print(f"{objective}: {graph.graph.node[0].op_type}, {same} of 1000 scores, {len(np.unique(last))} different values")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
