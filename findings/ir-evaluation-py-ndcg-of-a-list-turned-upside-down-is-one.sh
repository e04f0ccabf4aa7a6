#!/usr/bin/env bash
# Guess: nDCG of ir_evaluation_py divides the DCG of a list by the DCG of its grades from the highest to the lowest.
# Behaviour: ir_evaluation_py 1.0.0 sorts the grades and puts them into a dictionary by the place that each document was
# given at; it then reads this dictionary by place, which is the order before the sort. Where the judged documents are
# given in the order of the results, as in its documentation, every list is its own ideal: the worst order has nDCG 1,
# and so have all cutoffs. With the documents given from the highest grade down, the values are those of the formula.
# Why it matters: rows of a judged result list stand in its order. All systems have nDCG 1, or a value that depends on
# the order of the rows.
# Source: ir_evaluation_py, effectiveness.py (ndcgain: expected_assessments has the keys of the assessed documents).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ir-evaluation-py==1.0.0

expected='grades 3 2 1 0, given by rank: nDCG 1.00, at 2 1.00
grades 0 1 2 3, given by rank: nDCG 1.00, at 2 1.00
grades 0 1 2 3, given by grade: nDCG 0.67, at 2 0.20
grades 1 0 3 0, given by rank: nDCG 1.00, at 2 1.00
grades 1 0 3 0, given by grade: nDCG 0.72, at 2 0.25'

observed=$("$folder/venv/bin/python" - <<'EOF'
from ir_evaluation.effectiveness import effectiveness


def ndcg(grades, order):
    documents = {f"d{rank}": [rank, grade] for rank, grade in enumerate(grades, start=1)}
    if order == "grade":
        documents = dict(sorted(documents.items(), key=lambda item: -item[1][1]))
    interactions = {"1": {"total_result": len(grades), "assessed_documents": documents}}
    values = effectiveness().ndcgain(interactions, [2, "all"])
    return f"nDCG {values['all']['value']:.2f}, at 2 {values[2]['value']:.2f}"


for grades, orders in (([3, 2, 1, 0], ["rank"]), ([0, 1, 2, 3], ["rank", "grade"]), ([1, 0, 3, 0], ["rank", "grade"])):
    for order in orders:
        print(f"grades {' '.join(map(str, grades))}, given by {order}: {ndcg(grades, order)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
