#!/usr/bin/env bash
# Guess: scores of a Python float are compared as they are: 1.00000001 stands above 1.0, and 16777217 above
# 16777216.
# Behaviour: pytrec_eval-terrier 0.5.11 compares them as float32, as trec_eval 9 does: both pairs are ties, and the
# larger document id stands first. ir_measures 0.4.3 inherits it for all measures that it hands on; ranx 0.3.21
# compares float64.
# Why it matters: scores with a large constant part (logarithms of products, unnormalised sums, timestamps as a last
# tie-break) lose their order in the evaluation, not in the run.
# Source: trec_eval, trec_format.h (sim is a float); pytrec_eval, src/pytrec_eval.cpp.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pytrec-eval-terrier==0.5.11 ir-measures==0.4.3 ranx==0.3.21 numba==0.68.1 llvmlite==0.50.0 numpy==2.4.6 scipy==1.17.1 pandas==2.3.3

expected='1.0 1.0 1.0
0.5 0.0 1.0
0.5 0.0 1.0'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import ir_measures
import pytrec_eval
from ranx import Qrels, Run, evaluate

qrels = {"1": {"a": 1, "b": 0}}
for above, below in ((1.0001, 1.0), (1.00000001, 1.0), (16777217.0, 16777216.0)):
    run = {"1": {"a": above, "b": below}}
    print(
        pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)["1"]["recip_rank"],
        ir_measures.calc_aggregate([ir_measures.nDCG @ 1], qrels, run)[ir_measures.nDCG @ 1],
        float(evaluate(Qrels(qrels), Run(run), "mrr")),
    )
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
