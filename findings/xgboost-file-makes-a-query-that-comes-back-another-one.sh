#!/usr/bin/env bash
# Guess: XGBoost treats the query ids of a file as it treats those of an array: DMatrix(qid=) refuses ids that are
# not sorted, so the same rows in a file are refused, too, or rows of one id are one query.
# Behaviour: in XGBoost 3.2.0 the array is refused, and the file is read: wherever the id changes, another query
# begins, so that 2 2 1 1 2 2 are three queries; nothing is said.
# Why it matters: a file that was shuffled or joined trains on queries of one or two documents, of which most have
# no pair to learn from.
# Source: XGBoost, src/data/data.cc (group boundaries of a text file) and python-package/xgboost/core.py (set_info
# of qid).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    xgboost==3.2.0 numpy==2.4.6 scipy==1.17.1

expected='file: [0, 2, 4, 6]
array: refused'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from pathlib import Path

import numpy as np
import xgboost

queries = [2, 2, 1, 1, 2, 2]
Path("rows.txt").write_text("".join(f"{row % 2} qid:{query} 1:{row}\n" for row, query in enumerate(queries)))
print("file:", xgboost.DMatrix("rows.txt?format=libsvm").get_uint_info("group_ptr").tolist())
try:
    xgboost.DMatrix(np.arange(6.0)[:, None], [0, 1] * 3, qid=queries)
    print("array: read")
except ValueError as error:
    print("array: refused")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
