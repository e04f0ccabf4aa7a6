#!/usr/bin/env bash
# Guess: RR@10 is at most RR, as a cutoff can only remove the first relevant document.
# Behaviour: in ir_measures 0.4.3, RR@10 is 1 and RR is 0.5 for the same run of two documents with equal scores: RR
# comes from trec_eval's code, which puts the higher document id first, RR@10 from that of MS MARCO, for which
# ir_measures puts the lower one first.
# Why it matters: a run with many equal scores is better or worse by the presence of a cutoff alone.
# Source: ir_measures, __init__.py (order of providers), providers/pytrec_eval_provider.py (RR without a cutoff only),
# providers/msmarco_provider.py (sort of the run).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 cwl-eval==1.0.12 pyndeval==0.0.8 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6

expected='a is relevant: RR 0.5, RR@10 1.0
b is relevant: RR 1.0, RR@10 0.5'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import ir_measures
from ir_measures import RR, Qrel, ScoredDoc

run = [ScoredDoc("1", "a", 1.0), ScoredDoc("1", "b", 1.0)]
for relevant in "ab":
    values = ir_measures.calc_aggregate([RR, RR @ 10], [Qrel("1", relevant, 1)], run)
    print(f"{relevant} is relevant: RR {values[RR]}, RR@10 {values[RR @ 10]}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
