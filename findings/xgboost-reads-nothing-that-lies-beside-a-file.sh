#!/usr/bin/env bash
# Guess: DMatrix("rows.txt?format=libsvm") reads rows.txt.group, rows.txt.weight and rows.txt.base_margin, as the
# section "Auxiliary Files for Additional Information" of XGBoost's page on text files says.
# Behaviour: in XGBoost 3.2.0 (and in 2.1.4) none of the three is read, and nothing is said. A weight behind the label
# and qid: in the row are read.
# Why it matters: files of older days and of LightGBM, which reads .weight, train without weights, and a warm start by
# .base_margin begins at 0.
# Source: XGBoost, src/data/data.cc (DMatrix::Load), and doc/tutorials/input_format.rst.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    xgboost==3.2.0 numpy==2.4.6 scipy==1.17.1

expected='beside the file: groups [] weights [] margins []
in the rows: groups [0, 2, 4] weights [1.0, 2.0, 3.0, 4.0]'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from pathlib import Path

import xgboost


def said(name):
    data = xgboost.DMatrix(f"{name}?format=libsvm")
    groups = data.get_uint_info("group_ptr").tolist()
    return f"groups {groups} weights {data.get_weight().tolist()}", data.get_base_margin().tolist()


Path("rows.txt").write_text("".join(f"{row % 2} 1:{row}\n" for row in range(4)))
Path("rows.txt.group").write_text("2\n2\n")
for ending in ("weight", "base_margin"):
    Path(f"rows.txt.{ending}").write_text("1\n2\n3\n4\n")
print("beside the file:", said("rows.txt")[0], "margins", said("rows.txt")[1])
Path("own.txt").write_text("".join(f"{row % 2}:{row + 1} qid:{row // 2} 1:{row}\n" for row in range(4)))
print("in the rows:", said("own.txt")[0])
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
