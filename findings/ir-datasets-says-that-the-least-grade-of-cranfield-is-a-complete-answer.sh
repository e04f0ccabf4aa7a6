#!/usr/bin/env bash
# Guess: the grades of Cranfield are as ir_datasets says: from 1, of minimum interest, to 4, a complete answer.
# Behaviour: in the collection 1 is a complete answer and 4 is of minimum interest, as its readme says. ir_datasets
# 0.6.3 hands the numbers of the file out as they are, and gives them the meanings the other way round. Its own counts
# show it: there would be 363 complete answers to 225 questions, and only 128 documents of minimum interest.
# Why it matters: nDCG, ERR and a model of graded labels from these qrels prefer the least useful document of the
# collection with which evaluation began: a list with the complete answer first is worth less than the reverse. The
# grades have to be turned round (5 - grade) first; measures of one level of relevance are right.
# Source: ir_datasets, ir_datasets/datasets/cranfield.py (QREL_DEFS; CranfieldQrels does not change the grade) and
# etc/metadata.json; cranqrel.readme of the Cranfield collection.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==2.4.6 pytrec-eval-terrier==0.5.11 ir-datasets==0.6.3

expected='grade -1: 225 documents: References of no interest.
grade 1: 128 documents: References of minimum interest, for example,
grade 2: 387 documents: References which were useful, either as
grade 3: 734 documents: References of a high degree of
grade 4: 363 documents: References which are a complete answer
read: complete 1, minimum 4
complete first: P_1 1.000, ndcg 0.761
minimum first: P_1 1.000, ndcg 1.000'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import json
from io import BytesIO
from pathlib import Path

import ir_datasets
import pytrec_eval
from ir_datasets.datasets.cranfield import CranfieldQrels


class File:
    """Two lines in the form of cranqrel: a complete answer, and a document of minimum interest."""

    def stream(self):
        return BytesIO(b"1 complete 1\n1 minimum 4\n")


meanings = ir_datasets.load("cranfield").qrels_defs()
counts = json.loads((Path(ir_datasets.__file__).parent / "etc" / "metadata.json").read_text())["cranfield"]
counts = counts["qrels"]["fields"]["relevance"]["counts_by_value"]
for grade, meaning in sorted(meanings.items()):
    print(f"grade {grade}: {counts[str(grade)]} documents: {' '.join(meaning.split()[:6])}")

grades = {qrel.doc_id: qrel.relevance for qrel in CranfieldQrels(File()).qrels_iter()}
print("read:", ", ".join(f"{name} {grade}" for name, grade in grades.items()))
evaluator = pytrec_eval.RelevanceEvaluator({"1": grades}, {"ndcg", "P_1"})
for first, second in (("complete", "minimum"), ("minimum", "complete")):
    values = evaluator.evaluate({"1": {first: 2.0, second: 1.0}})["1"]
    print(f"{first} first: P_1 {values['P_1']:.3f}, ndcg {values['ndcg']:.3f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
