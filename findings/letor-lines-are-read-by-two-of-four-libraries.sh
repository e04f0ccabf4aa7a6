#!/usr/bin/env bash
# Guess: a line of LETOR, `2 qid:10 1:0.5 2:0.25 # docid = GX001`, is what every library with a ranking objective
# reads from a file.
# Behaviour: XGBoost 3.2.0 and scikit-learn 1.9.1 read it. LightGBM 4.7.0 refuses qid (and, without it, the
# comment), CatBoost 1.2.10 refuses the comment and reads the rest.
# Why it matters: MSLR, MQ2008 and Yahoo's sets are published in these lines; two of the libraries that papers
# compare need files of another kind, with queries in a file or column beside it.
# Source: LightGBM, src/io/parser.cpp (kinds of lines are told by the first one) and docs/Parameters.rst (query ids
# in a .query file); CatBoost, libs/data/libsvm_loader.cpp.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lightgbm==4.7.0 xgboost==3.2.0 catboost==1.2.10 scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1

expected='XGBoost: read, read, read
scikit-learn: read, read, read
LightGBM: refused, refused, refused
CatBoost: refused, read, refused'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from pathlib import Path

import catboost
import lightgbm
import xgboost
from sklearn.datasets import load_svmlight_file

ROWS = [(grade, query, grade / 4 + row / 8) for query in (10, 11) for row, grade in enumerate((2, 0, 1, 0))]


def write(name, has_query, has_comment):
    lines = (
        f"{grade} {f'qid:{query} ' if has_query else ''}1:{value} 2:{1 - value}{' # docid = GX001' if has_comment else ''}"
        for grade, query, value in ROWS
    )
    Path(name).write_text("\n".join(lines) + "\n")


def read(library, name):
    if library == "LightGBM":
        return lightgbm.Dataset(name, params={"verbose": -1, "min_data_in_bin": 1}).construct().num_data()
    if library == "XGBoost":
        return xgboost.DMatrix(f"{name}?format=libsvm").num_row()
    if library == "CatBoost":
        return catboost.Pool(f"libsvm://{name}").num_row()
    return load_svmlight_file(name, query_id=True)[0].shape[0]


write("both.txt", True, True)
write("query.txt", True, False)
write("comment.txt", False, True)
for library in ("XGBoost", "scikit-learn", "LightGBM", "CatBoost"):
    answers = []
    for name in ("both.txt", "query.txt", "comment.txt"):
        try:
            answers.append("read" if read(library, name) == len(ROWS) else "other rows")
        except Exception:
            answers.append("refused")
    print(f"{library}:", ", ".join(answers))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
