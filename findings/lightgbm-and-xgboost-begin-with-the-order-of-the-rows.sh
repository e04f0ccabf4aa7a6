#!/usr/bin/env bash
# Guess: the order of the rows within a query does not change a ranker: the loss is one of sets of documents.
# Behaviour: the first tree of lambdarank (LightGBM 4.7.0) and of rank:ndcg (XGBoost 3.2.0) ranks equal scores by
# their rows, and pairs documents with the first 30 and 32 of them alone. Below, of two kinds of documents that are
# not relevant, only the kind that stands first is lowered; the other kind is as good as the relevant documents. Where
# the rows are turned round, so is this.
# Why it matters: lists that are kept in the order of BM25, sorted by label, or shuffled give other models, with seed,
# deterministic and threads fixed; and what stands below the first rows is learnt only once earlier trees have moved
# it.
# Source: LightGBM, src/objective/rank_objective.hpp (LambdarankNDCG: stable sort by score,
# lambdarank_truncation_level); XGBoost, src/common/ranking_utils.cc (RankIdx) and "Constructing Pairs" of its page on
# learning to rank.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lightgbm==4.7.0 numpy==1.26.4 scipy==1.12.0
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps xgboost==3.2.0

expected='first feature first, LightGBM: lowered: first feature; equal: second feature, relevant
first feature first, XGBoost: lowered: first feature; equal: second feature, relevant
second feature first, LightGBM: lowered: second feature; equal: first feature, relevant
second feature first, XGBoost: lowered: second feature; equal: first feature, relevant'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import lightgbm
import numpy as np
import xgboost

kinds = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
names = ("first feature", "second feature", "relevant")


def scores(order):
    kind = np.tile(order + 10 * [2], 50)
    X, y, group = kinds[kind], (kind == 2).astype(int), 50 * [len(order) + 10]
    parameters = {"objective": "lambdarank", "num_leaves": 3, "num_threads": 1, "verbosity": -1}
    yield "LightGBM", lightgbm.train(parameters, lightgbm.Dataset(X, y, group=group), 1).predict(kinds)
    parameters = {"objective": "rank:ndcg", "max_depth": 2, "nthread": 1}
    booster = xgboost.train(parameters, xgboost.DMatrix(X, y, group=group), 1)
    yield "XGBoost", booster.predict(xgboost.DMatrix(kinds))


for title, order in (("first feature first", 40 * [0] + 40 * [1]), ("second feature first", 40 * [1] + 40 * [0])):
    for tool, values in scores(order):
        lowered = [name for name, value in zip(names, values) if value < 0]
        equal = [name for name, value in zip(names, values) if value == values[2]]
        print(f"{title}, {tool}: lowered: {', '.join(lowered)}; equal: {', '.join(equal)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
