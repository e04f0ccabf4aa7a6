#!/usr/bin/env bash
# Guess: lgb_to_pmml and xgboost_to_pmml of Nyoka write a ranker as they write a regressor, whose trees are the same, or
# refuse it.
# Behaviour: Nyoka 5.5.0 writes a PMML file for LGBMRanker and XGBRanker without a message, with the fields, the target
# and an empty Segmentation: a sum of no trees. The regressor of the same settings has all of its trees.
# Why it matters: the file is valid against the scheme and loads; it is only where it is served that there is one score,
# or none, for all documents.
# Source: nyoka, lgbm/lgb_to_pmml.py and xgboost/xgboost_to_pmml.py (segments are made where the name of the
# class holds "Regressor" or "Classifier").

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    nyoka==5.5.0 lxml==6.1.3 lightgbm==4.6.0 xgboost==2.1.4 numpy==1.26.4 scipy==1.15.3 pandas==2.2.3 \
    scikit-learn==1.5.2

expected='LGBMRegressor: 1 Segmentation, 10 trees
LGBMRanker: 1 Segmentation, 0 trees
XGBRegressor: 1 Segmentation, 10 trees
XGBRanker: 1 Segmentation, 0 trees'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import xml.etree.ElementTree as ElementTree

import numpy as np
from lightgbm import LGBMRanker, LGBMRegressor
from nyoka import lgb_to_pmml, xgboost_to_pmml
from sklearn.pipeline import Pipeline
from xgboost import XGBRanker, XGBRegressor

random = np.random.default_rng(0)
features = random.normal(size=(500, 2))
labels = np.clip(features[:, 0] + 2, 0, 4).astype(int)
for model, write in (
    (LGBMRegressor(n_estimators=10, verbose=-1), lgb_to_pmml),
    (LGBMRanker(n_estimators=10, verbose=-1), lgb_to_pmml),
    (XGBRegressor(n_estimators=10), xgboost_to_pmml),
    (XGBRanker(n_estimators=10), xgboost_to_pmml),
):
    name = type(model).__name__
    pipeline = Pipeline([("model", model)])
    pipeline.fit(features, labels, **({"model__group": [20] * 25} if "Ranker" in name else {}))
    write(pipeline, ["bm25", "clicks"], "grade", "model.pmml")
    root = ElementTree.parse("model.pmml").getroot()
    namespace = root.tag.removesuffix("PMML")
    print(f"{name}: {len(root.findall(f'.//{namespace}Segmentation'))} Segmentation, "
          f"{len(root.findall(f'.//{namespace}TreeModel'))} trees")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
