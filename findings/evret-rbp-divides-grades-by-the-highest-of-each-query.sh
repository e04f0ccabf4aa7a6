#!/usr/bin/env bash
# Guess: RBP of graded judgements divides the grades by the highest of the scale, as ERR of the same module does.
# Behaviour: evret 0.0.3 divides by the highest grade that the query itself has, and only where this is above 1. A
# query whose best document is of grade 1 and one whose best is of grade 4 have the same RBP for a list that begins
# with it, while ERR has 0.0625 and 0.9375. One judgement more, of a document that was not retrieved, can take the
# value of the same list to a quarter.
# Why it matters: a mean over topics weighs marginal documents as perfect ones where a topic has nothing better, and
# figures from before and after new judgements differ for lists that these do not touch.
# Source: evret/metrics/rbp.py (max of relevance_map.values()) beside err.py (max_grade).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    evret==0.0.3

expected='list a c, grades a=1 RBP 0.5000 ERR 0.0625
list a c, grades a=4 RBP 0.5000 ERR 0.9375
list a c, grades a=1 b=4 RBP 0.1250 ERR 0.0625'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from evret.metrics.err import ERR
from evret.metrics.rbp import RBP

for grades in ({"a": 1}, {"a": 4}, {"a": 1, "b": 4}):
    rbp = RBP(5, p=0.5).score_query(["a", "c"], grades)
    err = ERR(5).score_query(["a", "c"], grades)
    print("list a c, grades", *(f"{name}={grade}" for name, grade in grades.items()), f"RBP {rbp:.4f} ERR {err:.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
