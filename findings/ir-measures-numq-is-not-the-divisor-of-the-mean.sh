#!/usr/bin/env bash
# Guess: NumQ is the number of queries that the mean is over, and NumRel the number of their relevant documents.
# Behaviour: for two judged queries, one of them in the run, ir_measures 0.4.3 divides AP by 2 and says that NumQ is
# 1. NumRel leaves out the relevant documents of the query without results, too.
# Why it matters: means cannot be pooled over topic sets, nor recall be counted from NumRelRet / NumRel, with the
# counts that stand beside them.
# Source: ir_measures, providers/base.py (a missing query gets Measure.DEFAULT, 0) and measures/numq.py,
# measures/numrel.py, whose texts promise the queries and documents of the qrels.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 cwl-eval==1.0.12 pyndeval==0.0.8 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6

expected='AP 0.5, NumQ 1, NumRel 1'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import ir_measures
from ir_measures import AP, NumQ, NumRel, Qrel, ScoredDoc

qrels = [Qrel("1", "a", 1), Qrel("2", "b", 1), Qrel("2", "c", 1)]
values = ir_measures.calc_aggregate([AP, NumQ, NumRel], qrels, [ScoredDoc("1", "a", 3.0)])
print(f"AP {values[AP]}, NumQ {values[NumQ]:.0f}, NumRel {values[NumRel]:.0f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
