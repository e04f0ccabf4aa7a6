#!/usr/bin/env bash
# Guess: subgroup_id of a CatBoost Pool (the site of a document, say) is part of the task: where PFound counts one
# document of each subgroup, YetiRank, whose measure is PFound, is trained so.
# Behaviour: in CatBoost 1.2.10, PFound leaves out documents whose subgroup has stood higher in the list. No loss looks
# at it: models of YetiRank, of StochasticRank for PFound and of PairLogit are the same without subgroups, whatever
# they are, and NDCG, DCG and ERR are, too.
# Why it matters: early stopping of YetiRank, by PFound, follows a measure that wants diversity, of a model that is
# never taught it; and one column of the data, which training is thought to use, moves one figure of several.
# Source: CatBoost, catboost/libs/metrics/pfound.h; documentation, Pool, "subgroup_id", says only that it divides the
# objects of a group.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    catboost==1.2.10 numpy==1.26.4 scipy==1.17.1

expected='subgroups None: PFound 0.634, ERR 0.526, DCG 0.732
subgroups [0, 0, 1, 2]: PFound 0.537, ERR 0.526, DCG 0.732
subgroups [0, 0, 0, 0]: PFound 0.400, ERR 0.526, DCG 0.732
YetiRank: the same predictions: True
StochasticRank:metric=PFound: the same predictions: True
PairLogit: the same predictions: True'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from catboost import CatBoost, Pool
from catboost.utils import eval_metric

labels, scores, query = [0.4, 0.3, 0.2, 0.1], [4, 3, 2, 1], [0] * 4
for subgroups in (None, [0, 0, 1, 2], [0, 0, 0, 0]):
    values = {name: eval_metric(labels, scores, name, group_id=query, subgroup_id=subgroups)[0] for name in
              ("PFound", "ERR", "DCG")}
    print(f"subgroups {subgroups}: " + ", ".join(f"{name} {value:.3f}" for name, value in values.items()))

random = np.random.default_rng(0)
queries, documents = 60, 12
X = random.normal(size=(queries * documents, 4))
y = np.digitize(X[:, 0] + X[:, 1] + random.normal(size=len(X)), [0, 1, 2]) / 4
group = np.repeat(np.arange(queries), documents)
subgroup = np.tile(np.repeat([0, 1], documents // 2), queries)
for loss in ("YetiRank", "StochasticRank:metric=PFound", "PairLogit"):
    predictions = []
    for data in (Pool(X, y, group_id=group), Pool(X, y, group_id=group, subgroup_id=subgroup)):
        model = CatBoost({"loss_function": loss, "iterations": 20, "depth": 3, "thread_count": 1, "verbose": 0})
        predictions.append(model.fit(data).predict(X))
    print(f"{loss}: the same predictions: {np.array_equal(*predictions)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
