#!/usr/bin/env bash
# Guess: the score of a booster is its base score and the sum of the leaves that its dump shows, for DART, too.
# Behaviour: in XGBoost 3.2.0 the leaves of DART are shown as they were grown. The weights by which dropped trees are
# made smaller are in the model file alone (weight_drop), and the sum is another score.
# Why it matters: search engines read the dump. A DART model ranks otherwise there, and no number in the file says so.
# Source: XGBoost, src/gbm/gbtree.cc (Dart has no DumpModel of its own; weight_drop is applied in prediction).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    xgboost==3.2.0 numpy==2.4.6 scipy==1.17.1

expected='gbtree: largest difference 0.00
dart: largest difference 0.18'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import json

import numpy as np
import xgboost

x = np.arange(16)[:, None] / 4
data = xgboost.DMatrix(x, x[:, 0] > 1.3)
options = {"max_depth": 1, "base_score": 0, "rate_drop": 0.5, "seed": 0, "objective": "reg:squarederror"}
for booster in ("gbtree", "dart"):
    model = xgboost.train({"booster": booster, **options}, data, 4)
    total = np.zeros(len(x))
    for text in model.get_dump(dump_format="json"):
        root = json.loads(text)
        leaves = {child["nodeid"]: child["leaf"] for child in root["children"]}
        total += np.where(x[:, 0] < root["split_condition"], leaves[root["yes"]], leaves[root["no"]])
    print(f"{booster}: largest difference {np.abs(model.predict(data) - total).max():.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
