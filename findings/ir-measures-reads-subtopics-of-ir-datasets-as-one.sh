#!/usr/bin/env bash
# Guess: alpha_nDCG of ir_measures takes the judgements of a diversity track as ir_datasets yields them: both are by the
# same authors, and ir_measures takes qrels_iter() of every other data set.
# Behaviour: TrecSubQrel of ir_datasets 0.6.3 names the subtopic subtopic_id, ir_measures 0.4.3 reads iteration alone.
# All judgements are then of one subtopic: a list that repeats a subtopic has 1 where it has .8066 (a warning on stderr
# says that the figure may not be valid).
# Why it matters: what the measure is to punish, a second document on the same subtopic, costs nothing.
# Source: ir_datasets, formats/trec.py (TrecSubQrel); ir_measures, providers/pyndeval_provider.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-datasets==0.6.3 ir-measures==0.4.3 pyndeval==0.0.8 numpy==2.4.6 pytrec-eval-terrier==0.5.11 scipy==1.17.1

expected='as ir_datasets yields them: 1.0
with iteration for subtopic_id: 0.8066'

cd "$folder"
printf '1 1 a 1\n1 1 c 1\n1 2 b 1\n' > diversity.qrels  # query, subtopic, document, label
observed=$("$folder/venv/bin/python" -W ignore - 2> warnings.txt <<'EOF'
from ir_datasets.formats import TrecSubQrels
from ir_datasets.util import LocalDownload
from ir_measures import Qrel, ScoredDoc, alpha_nDCG, calc_aggregate

judged = list(TrecSubQrels(LocalDownload("diversity.qrels"), {}).qrels_iter())
run = [ScoredDoc("1", doc, score) for doc, score in (("a", 3.0), ("c", 2.0), ("b", 1.0))]
renamed = [Qrel(each.query_id, each.doc_id, each.relevance, each.subtopic_id) for each in judged]
for name, qrels in (("as ir_datasets yields them:", judged), ("with iteration for subtopic_id:", renamed)):
    print(name, round(calc_aggregate([alpha_nDCG @ 2], qrels, run)[alpha_nDCG @ 2], 4))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
