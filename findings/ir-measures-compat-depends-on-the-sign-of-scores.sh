#!/usr/bin/env bash
# Guess: a measure of a ranking does not change when the same number is subtracted from all scores.
# Behaviour: Compat of ir_measures 0.4.3 falls from 0.7778 to 0.2222. Documents of equal grade are put into the ideal
# order by their score in the run, and one that was not retrieved has the score 0 there: behind positive scores,
# before negative ones.
# Why it matters: systems that score with log-probabilities or negative distances look worse than ones that return the
# same lists.
# Source: ir_measures, providers/compat_provider.py (compatibility), after the authors' script for the measure.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 cwl-eval==1.0.12 pyndeval==0.0.8 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6

expected='scores 3 and 2: Compat 0.7778, nDCG 0.6131
scores -7 and -8: Compat 0.2222, nDCG 0.6131'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import ir_measures
from ir_measures import Compat, Qrel, ScoredDoc, nDCG

qrels = [Qrel("1", "a", 1), Qrel("1", "b", 1)]
compat = Compat(p=0.8)
for first, second in ((3, 2), (-7, -8)):
    run = [ScoredDoc("1", "a", float(first)), ScoredDoc("1", "x", float(second))]
    values = ir_measures.calc_aggregate([compat, nDCG], qrels, run)
    print(f"scores {first} and {second}: Compat {values[compat]:.4f}, nDCG {values[nDCG]:.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
