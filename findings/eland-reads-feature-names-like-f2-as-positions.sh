#!/usr/bin/env bash
# Guess: eland finds the features of an XGBRanker by the names that it was given, which are those of the data frame of
# training, whatever the names are.
# Behaviour: eland 9.2.0 reads a name of an f and digits as a position, before it looks at the names: a column "f0" that
# stands third is exported as the first one. Columns f1, f2, f3 are all off by one, and the last one is behind the end.
# Why it matters: a model for Elasticsearch is written without an error and reads other features than in training.
# Source: eland/ml/transformers/xgboost.py, get_feature_id: the pattern of XGBoost's own numbered names comes first.
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
import pandas as pd
import xgboost
from eland.ml.transformers import get_model_transformer

random = np.random.default_rng(0)
X = random.normal(size=(300, 3)).astype(np.float32)
y = np.digitize(X[:, 2] + 0.3 * random.normal(size=300), [0.5, 1.5])
for names in (["bm25", "age", "clicks"], ["f0", "f1", "f2"], ["f2", "f1", "f0"], ["f1", "f2", "f3"]):
    ranker = xgboost.XGBRanker(n_estimators=1, max_depth=1, n_jobs=1)
    ranker.fit(pd.DataFrame(X, columns=names), y, group=[10] * 30)
    split = ranker.get_booster().trees_to_dataframe()["Feature"][0]
    model = get_model_transformer(ranker, feature_names=names).transform().to_dict()
    root = model["ensemble"]["trained_models"][0]["tree"]["tree_structure"][0]
    index = root["split_feature"]
    print(f"XGBoost splits on {split}, eland on number {index}:", names[index] if index < len(names) else "none")
PYTHON
cat > expected <<'TEXT'
XGBoost splits on clicks, eland on number 2: clicks
XGBoost splits on f2, eland on number 2: f2
XGBoost splits on f0, eland on number 0: f2
XGBoost splits on f3, eland on number 3: none
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
