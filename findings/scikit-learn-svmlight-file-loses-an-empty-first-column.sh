#!/usr/bin/env bash
# Guess: load_svmlight_file reads what dump_svmlight_file wrote, whose head says that the columns are zero-based.
# Behaviour: in scikit-learn 1.9.1 the head is not read. Without a feature 0 in any row, zero_based="auto" takes the
# numbers for one-based: the empty first column is gone, and all others move by one. In a file with it they do not.
# Why it matters: of two parts of one data set, one that happens to have no value in the first column has other
# features; a model of the first scores shifted rows of the second without a word.
# Source: scikit-learn, datasets/_svmlight_format_io.py (load_svmlight_file: zero_based, "auto").

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1

expected='head: # Column indices are zero-based
written (2, 3) read (2, 2): [[1.0, 2.0], [3.0, 0.0]]
written (2, 3) read (2, 3): [[9.0, 1.0, 2.0], [0.0, 3.0, 0.0]]'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from io import BytesIO

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

for first in (0.0, 9.0):
    X = np.array([[first, 1.0, 2.0], [0.0, 3.0, 0.0]])
    file = BytesIO()
    dump_svmlight_file(X, [1, 0], file, query_id=[1, 1], comment="part")
    if not first:
        print("head:", file.getvalue().decode().splitlines()[1])
    file.seek(0)
    read = load_svmlight_file(file)[0].toarray()
    print("written", X.shape, "read", f"{read.shape}:", read.tolist())
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
