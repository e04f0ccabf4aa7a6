#!/usr/bin/env bash
# Guess: DMatrix.slice(rows, allow_groups=True) keeps the queries of the rows, as its argument says that a matrix
# with groups may be sliced.
# Behaviour: in XGBoost 3.2.0 the slice has no queries and no weights of queries. Training goes on: the whole slice
# is one query.
# Why it matters: folds that are cut out of one matrix compare documents of different queries with each other, and
# the model is worse without a word.
# Source: XGBoost, src/data/data.cc (MetaInfo::Slice) and the docstring of DMatrix.slice.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    xgboost==3.2.0 numpy==2.4.6 scipy==1.17.1

expected='queries [] weights []
as with one query: True
as with ten queries: False'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import xgboost

random = np.random.default_rng(0)
X = random.normal(size=(400, 4))
y = random.integers(0, 3, 400)
queries = np.repeat(np.arange(20), 20)
part = xgboost.DMatrix(X, y, qid=queries, weight=random.random(20)).slice(np.arange(100, 300), allow_groups=True)
print("queries", part.get_uint_info("group_ptr").tolist(), "weights", part.get_weight().tolist())
train = {"objective": "rank:ndcg", "max_depth": 3, "nthread": 1}
rows = slice(100, 300)
of_part = xgboost.train(train, part, 5).predict(part)
for name, ids in (("one query", np.zeros(200)), ("ten queries", queries[rows])):
    data = xgboost.DMatrix(X[rows], y[rows], qid=ids)
    print("as with", name + ":", bool((xgboost.train(train, data, 5).predict(data) == of_part).all()))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
