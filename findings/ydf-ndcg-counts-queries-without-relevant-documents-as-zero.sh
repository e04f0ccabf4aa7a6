#!/usr/bin/env bash
# Guess: the nDCG that YDF prints for a ranking model leaves out a query without a relevant document, or counts it
# as 1, as LightGBM, XGBoost and CatBoost do.
# Behaviour: in YDF 0.16.1 such a query counts as 0: with 5 of 30 queries emptied the figure of the same scores
# falls from .96 to .79.
# Why it matters: the same model on the same file has three figures in three libraries; a part of the difference is
# not the model. The cut-off is 5 unless it is set, the gain 2^label - 1.
# Source: YDF, yggdrasil_decision_forests/metric/ranking_ndcg.cc; documentation of the task RANKING.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ydf==0.16.1 numpy==2.4.6 pandas==2.3.3

expected='left out is what YDF prints: False
as one is what YDF prints: False
as zero is what YDF prints: True'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import pandas as pd
import ydf

random = np.random.default_rng(0)
frame = pd.DataFrame(random.normal(size=(600, 3)), columns=["a", "b", "c"])
frame["query"] = np.repeat(np.arange(30), 20).astype(str)
frame["grade"] = np.clip(np.round(frame["a"] + random.normal(size=600) / 2), 0, 4).astype(int)
model = ydf.GradientBoostedTreesLearner(
    label="grade", ranking_group="query", task=ydf.Task.RANKING, num_trees=10, validation_ratio=0.0, random_seed=1
).train(frame, verbose=0)
scores = pd.Series(model.predict(frame))


def ndcg(rows, cutoff=5):
    discounts = 1 / np.log2(np.arange(2, cutoff + 2))
    ranked = rows["grade"].to_numpy()[np.argsort(-scores[rows.index].to_numpy(), kind="stable")]
    ideal = (2.0 ** np.sort(ranked)[::-1][:cutoff] - 1) @ discounts
    return (2.0 ** ranked[:cutoff] - 1) @ discounts / ideal if ideal else float("nan")


emptied = frame.assign(grade=frame["grade"].where(~frame["query"].isin(list("01234")), 0))
values = emptied.groupby("query")[["grade"]].apply(ndcg)
printed = model.evaluate(emptied).ndcg
for name, mean in (("left out", values.mean()), ("as one", values.fillna(1).mean()), ("as zero", values.fillna(0).mean())):
    print(name, "is what YDF prints:", bool(abs(mean - printed) < 0.005))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
