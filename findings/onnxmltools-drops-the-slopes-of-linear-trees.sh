#!/usr/bin/env bash
# Guess: onnxmltools refuses a LightGBM model with linear_tree=true, as a TreeEnsembleRegressor has constant leaves only
# (LightGBM's SHAP values and Treelite refuse it), or converts it with other operators.
# Behaviour: onnxmltools 1.16.0 converts it without a warning into trees of constant leaves, the values that LightGBM
# keeps for rows with missing values. The scores are of another ranker, which orders documents differently.
# Why it matters: the ranker that was evaluated is not the one that is served.
# Source: LightGBM writes leaf_value next to leaf_const and leaf_coeff for each linear leaf; onnxmltools'
# operator_converters/LightGbm.py reads leaf_value from the dump and none of the others.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q lightgbm==4.7.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1
"$work/venv/bin/pip" install -q onnxmltools==1.16.0 onnx==1.23.2 onnxruntime==1.32.0 skl2onnx==1.20.0 numpy==2.4.6
cd "$work"
venv/bin/python - > observed <<'PYTHON'
import lightgbm
import numpy as np
import onnxruntime
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType

random = np.random.default_rng(0)
X = random.normal(size=(900, 4)).astype(np.float32)
y = np.digitize(X[:, 0] + random.normal(size=900), [0.5, 1.5])
for linear in (False, True):
    ranker = lightgbm.LGBMRanker(n_estimators=20, num_leaves=7, linear_tree=linear, verbosity=-1, n_jobs=1)
    ranker.fit(X, y, group=[15] * 60)
    model = convert_lightgbm(ranker, initial_types=[("x", FloatTensorType([None, 4]))], zipmap=False)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    converted, scores = session.run(None, {"x": X})[0].ravel(), ranker.predict(X)
    print("linear_tree:", linear)
    print("  ONNX scores are LightGBM's:", np.allclose(converted, scores, atol=1e-3))
    first = sum(np.argmax(converted[a : a + 15]) != np.argmax(scores[a : a + 15]) for a in range(0, 900, 15))
    print("  queries with another first document:", "some" if first else "none")
    if linear:
        booster, leaves = ranker.booster_, ranker.predict(X, pred_leaf=True)
        constants = [sum(booster.get_leaf_output(t, leaf) for t, leaf in enumerate(row)) for row in leaves]
        print("  ONNX scores are the constants:", np.allclose(converted, constants, atol=1e-3))
PYTHON
cat > expected <<'TEXT'
linear_tree: False
  ONNX scores are LightGBM's: True
  queries with another first document: none
linear_tree: True
  ONNX scores are LightGBM's: False
  queries with another first document: some
  ONNX scores are the constants: True
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
