#!/usr/bin/env bash
# Guess: a categorical feature that says which documents are relevant is at least as good to LightGBM as the same codes
# as numbers, on small data, too.
# Behaviour: in LightGBM 4.7.0 each side of a split by categories needs min_data_per_group documents, 100 by default:
# with 192 documents, or in a leaf of so many, a feature of four or more categories is never used, though
# min_child_samples is 5, and nothing says so; the model ranks by noise. The codes as numbers rank perfectly, three
# categories (which are split one by one) do, and so do six in 204 documents or with min_data_per_group=10.
# Why it matters: columns of pandas with the dtype category are taken so without a word. Sites, types and languages in
# judged data of a few queries, and below the first splits of larger data, have no effect, and an ablation says that
# they are useless.
# Source: LightGBM, docs/Parameters.rst (min_data_per_group, max_cat_to_onehot), feature_histogram.cpp.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lightgbm==4.7.0 scikit-learn==1.9.1 scipy==1.17.1 pandas==3.1.1 numpy==2.3.5

expected='192 documents, 6 types as a number: used, perfect
192 documents, 6 types as a category: not used, not perfect
192 documents, 6 types as a category min_data_per_group=10: used, perfect
192 documents, 4 types as a category: not used, not perfect
192 documents, 3 types as a category: used, perfect
204 documents, 6 types as a category: used, perfect'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import lightgbm
import numpy as np
import pandas as pd
from sklearn.metrics import ndcg_score


def show(categories, documents, as_category, **parameters):
    codes = np.arange(documents) % categories
    labels = (codes == 1).astype(int)
    data = pd.DataFrame({"type": codes, "noise": np.arange(documents) * 7919 % 10007 / 10007})
    if as_category:
        data["type"] = data["type"].astype("category")
    group = [documents // 6] * 6
    ranker = lightgbm.LGBMRanker(
        n_estimators=20, min_child_samples=5, verbose=-1, n_jobs=1, deterministic=True, **parameters
    )
    scores = ranker.fit(data, labels, group=group).predict(data).reshape(6, -1)
    splits = dict(zip(data.columns, ranker.feature_importances_, strict=True))["type"]
    ndcg = ndcg_score(labels.reshape(6, -1), scores)
    kind = "a category" if as_category else "a number"
    print(f"{documents} documents, {categories} types as {kind}{' ' if parameters else ''}", end="")
    print(*(f"{name}={value}" for name, value in parameters.items()), end="")
    print(f": {'used' if splits else 'not used'}, {'perfect' if ndcg > 0.999 else 'not perfect'}")


show(6, 192, False)
show(6, 192, True)
show(6, 192, True, min_data_per_group=10)
show(4, 192, True)
show(3, 192, True)
show(6, 204, True)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
