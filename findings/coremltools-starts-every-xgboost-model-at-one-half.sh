#!/usr/bin/env bash
# Guess: coremltools converts an XGBoost model with its base_score, so that the values are those of XGBoost.
# Behaviour: coremltools 9.0 writes 0.5 as the base value, whatever the model has. XGBoost 2.1.4 takes the mean label
# where nothing is given: predicted grades are off by the difference of the mean and a half (here 1.49 in place of .5),
# and by 4.5 with base_score=5. A model that was stopped early has all its trees, too.
# Why it matters: the order stays, but not a threshold on the grade, a sum with the score of a first stage, or a
# calibration; with the default of XGBoost below 2.0, which was 0.5, the same code was right.
# Source: coremltools, converters/xgboost/_tree_ensemble.py (set_default_prediction_value(0.5)); XGBoost, release notes
# of 1.7 and 2.0 (base_score is estimated).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    coremltools==9.0 xgboost==2.1.4 numpy==1.26.4 scipy==1.15.3 scikit-learn==1.5.2

expected="{}: base 1.49, written 0.50; grades of XGBoost and Core ML: 1.99 1.00 1.99 1.00 2.96 1.97
{'base_score': 0.5}: base 0.50, written 0.50; grades of XGBoost and Core ML: 1.96 1.96 1.96 1.96 2.93 2.93
{'base_score': 5.0}: base 5.00, written 0.50; grades of XGBoost and Core ML: 2.09 -2.41 2.09 -2.41 3.06 -1.44"

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2>/dev/null <<'EOF'
import json

import coremltools
import numpy as np
import xgboost
from coremltools.proto.TreeEnsemble_pb2 import TreeEnsembleParameters

LEAF = TreeEnsembleParameters.TreeNode.LeafNode
random = np.random.default_rng(0)
features = np.round(random.normal(size=(2000, 3)), 2)
grades = np.clip((features[:, 0] + 2).astype(int), 0, 4)


def values(ensemble, row):
    """Return the value of the trees that are written, which the runtime of macOS would give."""
    nodes = {(node.treeId, node.nodeId): node for node in ensemble.nodes}
    value = ensemble.basePredictionValue[0]
    for tree in {node.treeId for node in ensemble.nodes}:
        node = nodes[tree, 0]
        while node.nodeBehavior != LEAF:
            is_less = row[node.branchFeatureIndex] < node.branchFeatureValue
            node = nodes[tree, node.trueChildNodeId if is_less else node.falseChildNodeId]
        value += node.evaluationInfo[0].evaluationValue
    return value


for options in ({}, {"base_score": 0.5}, {"base_score": 5.0}):
    model = xgboost.XGBRegressor(n_estimators=10, **options).fit(features, grades)
    base = float(json.loads(model.get_booster().save_config())["learner"]["learner_model_param"]["base_score"])
    converted = coremltools.converters.xgboost.convert(model, feature_names=["f0", "f1", "f2"], mode="regressor")
    ensemble = converted.get_spec().treeEnsembleRegressor.treeEnsemble
    pairs = [(float(model.predict(row[None])[0]), values(ensemble, row)) for row in features[:3]]
    print(f"{options}: base {base:.2f}, written {ensemble.basePredictionValue[0]:.2f}; grades of XGBoost and Core ML:",
          *(f"{ours:.2f} {theirs:.2f}" for ours, theirs in pairs))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
