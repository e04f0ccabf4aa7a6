#!/usr/bin/env bash
# Guess: in one library, all measures of a run are means over the same queries.
# Behaviour: in Microsoft's recommenders 1.2.1, map_at_k, precision_at_k and recall_at_k are means over the users that
# both frames have; a user without a recommendation is left out. ndcg_at_k is the mean over all users of the truth. Of
# two queries, one answered perfectly and one not at all: MAP 1.0, recall 1.0, nDCG 0.5.
# Why it matters: a system that gives up on hard queries wins by MAP and loses by nDCG, in the same table.
# Source: recommenders, evaluation/python_evaluation.py (merge_ranking_true_pred, ndcg_at_k).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==1.26.4 pandas==2.2.3 scipy==1.15.3 scikit-learn==1.5.2
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    recommenders==1.2.1

expected='q2 without results: map_at_k 1.0, recall_at_k 1.0, ndcg_at_k 0.5
q2 with a wrong result: map_at_k 0.5, recall_at_k 0.5, ndcg_at_k 0.5'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pandas as pd
from recommenders.evaluation import python_evaluation as measures

truth = pd.DataFrame({"userID": ["q1", "q2"], "itemID": ["a", "b"], "rating": [1.0, 1.0]})
one = pd.DataFrame({"userID": ["q1"], "itemID": ["a"], "prediction": [2.0]})
wrong = pd.DataFrame({"userID": ["q1", "q2"], "itemID": ["a", "c"], "prediction": [2.0, 1.0]})
for name, run in (("q2 without results", one), ("q2 with a wrong result", wrong)):
    values = [f"{m} {getattr(measures, m)(truth, run, k=10)}" for m in ("map_at_k", "recall_at_k", "ndcg_at_k")]
    print(f"{name}: {', '.join(values)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
