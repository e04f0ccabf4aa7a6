#!/usr/bin/env bash
# Guess: evaluate(return_mean=False) returns the values of the queries in the order in which Qrels was given them: the
# first belongs to the first topic.
# Behaviour: in ranx 0.3.21 the array is in the order of the ids as text: 1, 10, 2. The order of the dictionaries that
# Qrels and Run are made of, or of the file, is lost, and evaluate() sorts Qrels itself. Run.scores has the ids.
# Why it matters: values that are put beside topics by position, or beside those of another tool in numerical order,
# belong to other topics: means agree, and paired tests, wins and losses, and correlations with the length of queries
# do not.
# Source: ranx, meta/evaluate.py and data_structures/qrels.py (sort); the manual has no word on the order.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ranx==0.3.21 numpy==2.4.6 scipy==1.17.1 numba==0.68.1 llvmlite==0.50.0 pandas==3.0.6

expected='topics as given: 1 2 10 11
values: 1.00 0.33 0.00 0.50
by id: 1=1.00 10=0.33 11=0.00 2=0.50'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from ranx import Qrels, Run, evaluate

relevant = {"1": {"a": 1}, "2": {"b": 1}, "10": {"c": 1}, "11": {"d": 1}}
found = {"1": {"a": 2.0}, "2": {"x": 3.0, "b": 2.0}, "10": {"x": 3.0, "y": 2.0, "c": 1.0}, "11": {"x": 3.0}}
values = evaluate(Qrels(relevant), Run(found), "mrr", return_mean=False)
print("topics as given:", *relevant)
print("values:", *(f"{value:.2f}" for value in values))
run = Run(found)
evaluate(Qrels(relevant), run, "mrr")
print("by id:", *(f"{query}={value:.2f}" for query, value in run.scores["mrr"].items()))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
