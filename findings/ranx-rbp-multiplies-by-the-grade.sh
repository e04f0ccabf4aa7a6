#!/usr/bin/env bash
# Guess: RBP is at most 1, and has relevance 0 or 1 in it, as the text of ranx says.
# Behaviour: ranx 0.3.21 multiplies by the grade. A document of grade 3 at rank 1 gives rbp.50 the value 1.5; a
# relevance level (rbp.50-l2) decides which documents count, and still counts their grade. RBP(rel=1) of ir_measures
# is 0.5.
# Why it matters: RBP of two collections with other grades, or of two tools, cannot be compared.
# Source: ranx, metrics/rank_biased_precision.py, where code and text differ.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ranx==0.3.21 numba==0.68.1 llvmlite==0.50.0 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6 \
    ir-measures==0.4.3 cwl-eval==1.0.12 pytrec-eval-terrier==0.5.11

expected='ranx: rbp.50 1.500, rbp.50-l2 1.500
ir_measures: RBP(p=0.5) 0.500'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import ir_measures
from ir_measures import RBP
from ranx import Qrels, Run, evaluate

qrels, run = {"1": {"a": 3}}, {"1": {"a": 2.0, "x": 1.0}}
values = evaluate(Qrels(qrels), Run(run), ["rbp.50", "rbp.50-l2"])
print("ranx:", ", ".join(f"{name} {value:.3f}" for name, value in values.items()))
print(f"ir_measures: RBP(p=0.5) {RBP(p=0.5, rel=1).calc_aggregate(qrels, run):.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
