#!/usr/bin/env bash
# Guess: the mean of a measure does not depend on which other measures are asked for in the same call.
# Behaviour: in ir_measures 0.4.3, Accuracy alone leaves out a query for which no relevant document was retrieved
# (mean 1.0). Beside AP it counts 0 for that query (mean 0.5).
# Why it matters: the figure of a paper cannot be reproduced without its whole list of measures.
# Source: ir_measures, providers/accuracy_provider.py (AccuracyEvaluator.iter_calc leaves queries out) and
# providers/fallback_provider.py (FallbackEvaluator inherits an iter_calc that fills in zeros).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 cwl-eval==1.0.12 pyndeval==0.0.8 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6

expected='alone: 1.0
beside AP: 0.5'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import ir_measures
from ir_measures import AP, Accuracy, Qrel, ScoredDoc

qrels = [Qrel("1", "a", 1), Qrel("2", "b", 1)]
run = [ScoredDoc("1", "a", 3.0), ScoredDoc("1", "x", 2.0), ScoredDoc("2", "z", 1.0)]
print("alone:", ir_measures.calc_aggregate([Accuracy], qrels, run)[Accuracy])
print("beside AP:", ir_measures.calc_aggregate([Accuracy, AP], qrels, run)[Accuracy])
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
