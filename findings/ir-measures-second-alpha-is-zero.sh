#!/usr/bin/env bash
# Guess: calc_aggregate of two measures gives the values that it gives for each of them alone.
# Behaviour: in ir_measures 0.4.3, alpha-nDCG with two values of alpha in one call has its value for one alpha and 0
# for the other: the run is a generator, and the first of two evaluators of pyndeval uses it up.
# Why it matters: a table of alpha-nDCG over several alphas, or with alpha-nDCG(rel=2) beside it, has a zero that
# reads as a failed run.
# Source: ir_measures, providers/pyndeval_provider.py (PyNdEvalEvaluator._iter_calc), util.py (RunConverter).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 cwl-eval==1.0.12 pyndeval==0.0.8 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6

expected='alone: 0.9802 0.9299
together, sorted: 0.0000 and one of the two'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import ir_measures
from ir_measures import Qrel, ScoredDoc, alpha_nDCG

qrels = [Qrel("1", "a", 1, "1"), Qrel("1", "b", 1, "2"), Qrel("1", "c", 1, "1")]
run = [ScoredDoc("1", "a", 3.0), ScoredDoc("1", "c", 2.0), ScoredDoc("1", "b", 1.0)]
measures = [alpha_nDCG(alpha=0.3) @ 10, alpha_nDCG(alpha=0.9) @ 10]
alone = [measure.calc_aggregate(qrels, run) for measure in measures]
together = sorted(ir_measures.calc_aggregate(measures, qrels, run).values())
print("alone:", *(f"{value:.4f}" for value in alone))
print(f"together, sorted: {together[0]:.4f} and", "one of the two" if together[1] in alone else together[1])
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
