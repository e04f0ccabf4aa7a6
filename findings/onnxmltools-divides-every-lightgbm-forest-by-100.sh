#!/usr/bin/env bash
# Guess: onnxmltools.convert_lightgbm writes a model whose scores are LightGBM's, for each boosting_type that it takes.
# Behaviour: a model of boosting_type=rf is the mean of its trees; onnxmltools 1.16.0 divides the sum of its trees by
# 100, whatever their number. Only a forest of 100 trees keeps its scores; one of 10 trees has a tenth of them.
# Why it matters: the order within a query is kept, but not a threshold, a sum with a first stage or a calibration,
# and a forest that was stopped early no longer has 100 trees.
# Source: onnxmltools/convert/lightgbm/operator_converters/LightGbm.py, the branch for a regressor of boosting_type rf:
# the denominator is written as a constant.
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
for boosting, n_trees in (("gbdt", 10), ("dart", 10), ("rf", 100), ("rf", 10), ("rf", 25)):
    ranker = lightgbm.LGBMRanker(
        boosting_type=boosting, n_estimators=n_trees, subsample=0.7, subsample_freq=1, verbosity=-1, n_jobs=1
    )
    ranker.fit(X, y, group=[15] * 60)
    model = convert_lightgbm(ranker, initial_types=[("x", FloatTensorType([None, 4]))], zipmap=False)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    ratio = session.run(None, {"x": X})[0].ravel() / ranker.predict(X)
    print(boosting, n_trees, "trees: ONNX scores are", round(float(np.median(ratio)), 3), "times LightGBM's")
PYTHON
cat > expected <<'TEXT'
gbdt 10 trees: ONNX scores are 1.0 times LightGBM's
dart 10 trees: ONNX scores are 1.0 times LightGBM's
rf 100 trees: ONNX scores are 1.0 times LightGBM's
rf 10 trees: ONNX scores are 0.1 times LightGBM's
rf 25 trees: ONNX scores are 0.25 times LightGBM's
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
