#!/usr/bin/env bash
# Guess: GroupKFold with the query ids as groups makes folds of the same number of queries; shuffle=True only changes
# which queries are together.
# Behaviour: in scikit-learn 1.9.1 the folds have the same number of rows: of 20 queries, one of which has 100 documents
# and the others 5, the long one is a fold alone and the others share four. With shuffle=True the folds have four
# queries each, and 115 or 20 rows.
# Why it matters: cross_val_score and grid searches average over folds: nDCG of the long query counts for a fifth of the
# mean without shuffle, and for a twentieth with it. With nDCG of 0.2 for this query and 0.8 for the others the means
# are 0.68 and 0.77, of the same predictions, and the model of one fold is trained without most of the data.
# Source: scikit-learn, model_selection/_split.py (GroupKFold._iter_test_indices).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-learn==1.9.1 numpy==2.3.5 scipy==1.17.1

expected='mean over queries: 0.77
without shuffle: queries 1 4 5 5 5; rows 20 25 25 25 100; mean over folds 0.68
with shuffle: queries 4 4 4 4 4; rows 20 20 20 20 115; mean over folds 0.77'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import numpy as np
from sklearn.model_selection import GroupKFold

queries = np.repeat(np.arange(20), [100] + [5] * 19)
ndcg = np.array([0.2] + [0.8] * 19)
print(f"mean over queries: {ndcg.mean():.2f}")
for folds in (GroupKFold(5), GroupKFold(5, shuffle=True, random_state=0)):
    tests = [test for _, test in folds.split(queries, groups=queries)]
    held_out = [np.unique(queries[test]) for test in tests]
    print("with" if folds.shuffle else "without", "shuffle: queries", *sorted(map(len, held_out)), end="; ")
    print("rows", *sorted(map(len, tests)), end="; ")
    print(f"mean over folds {np.mean([ndcg[fold].mean() for fold in held_out]):.2f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
