#!/usr/bin/env bash
# Guess: AP of cwl_eval, which ir_measures offers as a provider of AP, divides by the number of all relevant
# documents.
# Behaviour: in cwl-eval 1.0.12, AP divides by the number of relevant documents that were retrieved: a run with one of
# four relevant documents, at rank 1, has AP 1; trec_eval says 0.25.
# Why it matters: AP rewards short lists then, and an AP printed beside RBP or INST by this tool is no MAP.
# Source: cwl-eval, cwl/ruler/measures/cwl_ap.py: APCWLMetric.c_vector reads the gains of the ranking alone, although
# the text above it says that all relevant items are counted. ir_measures, providers/cwl_eval.py, offers it as AP.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 cwl-eval==1.0.12 pyndeval==0.0.8 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6

expected='retrieved a x b: pytrec_eval 0.4167, cwl_eval 0.8333
retrieved a: pytrec_eval 0.2500, cwl_eval 1.0000'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import ir_measures
from ir_measures import AP, Qrel, ScoredDoc

qrels = [Qrel("1", doc, 1) for doc in "abcd"]
for docs in ("axb", "a"):
    run = [ScoredDoc("1", doc, 9.0 - rank) for rank, doc in enumerate(docs)]
    tools = ir_measures.pytrec_eval, ir_measures.cwl_eval
    values = [tool.calc_aggregate([AP], qrels, run)[AP] for tool in tools]
    print(f"retrieved {' '.join(docs)}: pytrec_eval {values[0]:.4f}, cwl_eval {values[1]:.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
