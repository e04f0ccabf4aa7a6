#!/usr/bin/env bash
# Guess: ERR_IA and alpha_DCG are from 0 to 1 at any cutoff, since the collection-independent norm is that of
# documents with all subtopics.
# Behaviour: in pyndeval 0.0.8, which has the code of TREC's ndeval, they are divided by that norm from cutoff 2 on.
# At cutoff 1 they are the number of subtopics of the first document: 2 here, and 0.9 at cutoff 2.
# Why it matters: a table of cutoffs 1, 5, 10 has a first column of another scale, in which a query with many
# subtopics counts most.
# Source: pyndeval, src/ndeval.c (computeERR and computeDCG: the division begins at the second rank); the help text of
# ndeval, which prints cutoffs from 5 on, does not say it.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 cwl-eval==1.0.12 pyndeval==0.0.8 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6

expected='cutoff 1: ERR_IA 2.0000, alpha_DCG 2.0000, nERR_IA 1.0000, alpha_nDCG 1.0000
cutoff 2: ERR_IA 0.9000, alpha_DCG 0.8801, nERR_IA 1.0000, alpha_nDCG 1.0000'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import ir_measures
from ir_measures import ERR_IA, Qrel, ScoredDoc, alpha_DCG, alpha_nDCG, nERR_IA

qrels = [Qrel("1", "a", 1, "1"), Qrel("1", "a", 1, "2"), Qrel("1", "b", 1, "2")]
run = [ScoredDoc("1", "a", 1.0), ScoredDoc("1", "b", 0.5)]
for cutoff in (1, 2):
    measures = [measure @ cutoff for measure in (ERR_IA, alpha_DCG, nERR_IA, alpha_nDCG)]
    values = ir_measures.calc_aggregate(measures, qrels, run)
    print(f"cutoff {cutoff}:", ", ".join(f"{str(name).split('@')[0]} {values[name]:.4f}" for name in measures))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
