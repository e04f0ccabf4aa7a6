#!/usr/bin/env bash
# Guess: nDCG(gains={1: 1, 2: 3}) is a whole table: a grade that it does not name has gain 0, or is refused.
# Behaviour: in ir_measures 0.4.3 a grade that is not named keeps itself as its gain, so that 3 is worth as much as
# 2; and the pair 1: 1 is dropped from the name of the measure.
# Why it matters: a table that was written for grades to 2 goes on with grades to 3 or 4, in which the best document
# gains no more than the second best.
# Source: ir_measures, providers/pytrec_eval_provider.py (grades are mapped by get(grade, grade)).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 numpy==2.4.6 pandas==2.3.3

expected='name nDCG(gains={2:3})@3
2 3 1: 1.0
3 2 1: 1.0
4 2 1: 1.0
2 4 1: 0.9423'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import ir_measures

measure = ir_measures.parse_measure("nDCG(gains={1:1,2:3})@3")
run = {"1": {"x": 3.0, "y": 2.0, "z": 1.0}}
print("name", measure)
for grades in ({"x": 2, "y": 3, "z": 1}, {"x": 3, "y": 2, "z": 1}, {"x": 4, "y": 2, "z": 1}, {"x": 2, "y": 4, "z": 1}):
    print(*grades.values(), end=": ")
    print(round(ir_measures.calc_aggregate([measure], {"1": grades}, run)[measure], 4))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
