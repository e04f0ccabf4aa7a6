#!/usr/bin/env bash
# Guess: nDCG with exponential gains has one value for each query id, from 0 to 1, as nDCG with linear gains has.
# Behaviour: ir_measures 0.4.3 computes it with gdeval, which cuts a query id at its last hyphen. The topics 2019-1
# and 2020-1 become one list of the query 1, whose value exceeds 1; both topics get 0; the mean is over three queries.
# Why it matters: joined test collections and ids such as MB-12 give a wrong mean without a warning.
# Source: ir_measures, bin/gdeval.pl (reading of qrels and run), providers/base.py (Evaluator.iter_calc adds zeros).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 cwl-eval==1.0.12 pyndeval==0.0.8 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6

expected='nDCG@10: 2019-1 1.0000, 2020-1 0.6309, mean 0.8155
nDCG(exp)@10: 1 1.3066, 2019-1 0.0000, 2020-1 0.0000, mean 0.4355'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import shutil
import sys

import ir_measures
from ir_measures import Qrel, ScoredDoc

if not shutil.which("perl"):
    sys.exit("perl is needed, which gdeval is written in")
qrels = [Qrel("2019-1", "a", 1), Qrel("2020-1", "b", 1)]
run = [ScoredDoc("2019-1", "a", 2.0), ScoredDoc("2020-1", "a", 3.0), ScoredDoc("2020-1", "b", 1.0)]
for name, text in (("nDCG@10", "nDCG@10"), ("nDCG(exp)@10", "nDCG(dcg='exp-log2')@10")):
    measure = ir_measures.parse_measure(text)
    mean, values = measure.calc(qrels, run)
    rows = sorted((value.query_id, value.value) for value in values)
    print(f"{name}: " + ", ".join(f"{query} {value:.4f}" for query, value in rows) + f", mean {mean:.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
