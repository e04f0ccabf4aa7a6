#!/usr/bin/env bash
# Guess: a ranker that CatBoost saves as Python code gives the scores of its model, with missing values too.
# Behaviour: with CatBoost 1.2.10 it does for nan_mode=Min. For nan_mode=Max the code sends NaN where the lowest
# values go: 613 of the 614 rows with a missing value get another score, and no line of the export says so.
# The export as ONNX has the right directions.
# Why it matters: nan_mode=Max is chosen where what is missing is worst at low values (prices, distances); the
# exported code is run where no library can be installed, on the same features, and orders documents with gaps as if
# they were the cheapest or nearest.
# Source: CatBoost, catboost/libs/model/model_export/python_exporter.cpp writes the borders of each feature and nothing
# of nan_value_treatment, which the JSON has; the exported code compares float_features[index] > border, which is false
# for NaN.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check catboost==1.2.10 numpy==2.4.6 pandas==3.0.3 scipy==1.17.1 onnxruntime==1.32.0

expected='Min, Python: 0 of 614 rows with NaN differ, 0 others
Min, ONNX: 0 of 614 rows with NaN differ, 0 others
Max, Python: 613 of 614 rows with NaN differ, 0 others
Max, ONNX: 0 of 614 rows with NaN differ, 0 others'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import runpy

import catboost
import numpy as np
import onnxruntime

random = np.random.default_rng(0)
X = np.round(random.normal(size=(1000, 4)), 3).astype(np.float32)
X[random.random(X.shape) < 0.2] = np.nan
y = np.digitize(np.nan_to_num(X[:, 0]) + np.isnan(X[:, 1]) + 0.3 * random.normal(size=1000), [0, 1])
missing = np.isnan(X).any(axis=1)
for mode in ("Min", "Max"):
    ranker = catboost.CatBoostRanker(iterations=20, nan_mode=mode, verbose=0, allow_writing_files=False, thread_count=1)
    ranker.fit(X, y, group_id=np.repeat(np.arange(50), 20))
    ranker.save_model("model.py", format="python")
    ranker.save_model("model.onnx", format="onnx")
    apply = runpy.run_path("model.py")["apply_catboost_model"]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession("model.onnx", options)
    exports = {
        "Python": np.array([apply(row) for row in X.astype(float).tolist()]),
        "ONNX": session.run(None, {"features": X})[0].ravel(),
    }
    for name, scores in exports.items():
        other = ~np.isclose(scores, ranker.predict(X), atol=1e-4)
        print(f"{mode}, {name}: {(other & missing).sum()} of {missing.sum()} rows with NaN differ, {(other & ~missing).sum()} others")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
