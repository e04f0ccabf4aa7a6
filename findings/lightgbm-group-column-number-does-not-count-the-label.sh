#!/usr/bin/env bash
# Guess: `group_column=1` names the second column of a text file, as `label_column=0` names the first.
# Behaviour: columns are counted without the label (LightGBM 4.7.0): 1 is the third column of the file. Where it holds
# a feature of whole numbers, each run of equal values becomes a query, in silence, and the ids of the queries become
# a feature.
# Why it matters: the model is trained on queries that nobody asked, with the id of the query as a feature; no error
# says so. Names (`name:qid`, with a header) are not shifted.
# Source: LightGBM's parameters, group_column: index starts from 0 and it does not count the label column.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check lightgbm==4.7.0 numpy==2.3.4

expected='group_column=1:        sizes of queries [2, 1, 1, 2, 1, 1]
group_column=0:        sizes of queries [4, 4]
group_column=name:qid: sizes of queries [4, 4]'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import lightgbm
from pathlib import Path

rows = [(label, query, pages) for query in (5, 6) for label, pages in ((0, 1), (1, 1), (0, 2), (1, 3))]
Path("train.csv").write_text("".join(f"{label},{query},{pages},0.5\n" for label, query, pages in rows))
Path("named.csv").write_text("label,qid,pages,f\n" + Path("train.csv").read_text())


def queries(file, **parameters):
    data = lightgbm.Dataset(file, params={"verbose": -1, "label_column": "0", **parameters}).construct()
    return data.get_group().tolist()


print("group_column=1:        sizes of queries", queries("train.csv", group_column="1"))
print("group_column=0:        sizes of queries", queries("train.csv", group_column="0"))
by_name = {"header": True, "label_column": "name:label", "group_column": "name:qid"}
print("group_column=name:qid: sizes of queries", queries("named.csv", **by_name))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
