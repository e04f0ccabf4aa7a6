#!/usr/bin/env bash
# Guess: load_svmlight_file(query_id=True) returns one query id a row, or refuses a file in which some lines have no
# qid.
# Behaviour: in scikit-learn 1.9.1 the ids of the lines that have one are returned as they follow each other: four
# rows, two ids, without a word.
# Why it matters: files that were joined from one with queries and one without are read; whoever groups rows by this
# array groups others.
# Source: scikit-learn, datasets/_svmlight_format_fast.pyx (an id is appended where a line has one).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1

expected='rows 4 labels 4 query ids [1, 2]'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from io import BytesIO

from sklearn.datasets import load_svmlight_file

lines = b"2 qid:1 1:0.5\n0 1:0.25\n1 qid:2 1:0.125\n0 1:1\n"
rows, labels, queries = load_svmlight_file(BytesIO(lines), query_id=True)
print("rows", rows.shape[0], "labels", len(labels), "query ids", queries.tolist())
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
