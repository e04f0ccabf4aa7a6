#!/usr/bin/env bash
# Guess: the trees of get_dump(dump_format="json") are those of the model; feature_types=["int"] only says how a
# threshold is printed.
# Behaviour: in XGBoost 3.2.0 the model splits at 1.375 and the dump says 2. The model takes values that are no whole
# numbers, and scores them by 1.375; whoever reads the dump scores 1.5 and 1.75 by the other leaf.
# Why it matters: the dump is what the plug-ins of Elasticsearch and OpenSearch and Vespa read. An "int" feature whose
# values are normalised later, or are means, ranks differently there.
# Source: XGBoost, src/tree/tree_model.cc (Integer of the generators rounds up), against src/predictor.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    xgboost==3.2.0 numpy==2.4.6 scipy==1.17.1

expected='model splits at 1.375, dump at 2
scored otherwise by the dump: [1.5, 1.75]'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import json

import numpy as np
import xgboost

x = np.arange(16)[:, None] / 4
data = xgboost.DMatrix(x, x[:, 0] > 1.3, feature_types=["int"])
options = {"max_depth": 1, "tree_method": "exact", "base_score": 0, "objective": "reg:squarederror"}
model = xgboost.train(options, data, 1)
tree = json.loads(model.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"][0]
root = json.loads(model.get_dump(dump_format="json")[0])
print(f"model splits at {tree['split_conditions'][0]}, dump at {root['split_condition']}")
low, high = (child["leaf"] for child in root["children"])
dumped = np.where(x[:, 0] < root["split_condition"], low, high)
print("scored otherwise by the dump:", x[np.abs(model.predict(data) - dumped) > 1e-6, 0].tolist())
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
