#!/usr/bin/env bash
# Guess: ERR of ir_measures takes the highest grade of the judgements, or of the query, as the grade that satisfies
# nearly surely (15/16 for a scale to 4): a list of relevant documents alone has an ERR near 1.
# Behaviour: in ir_measures 0.4.3, ERR comes from gdeval, in which the highest grade is 4, whatever the judgements
# are: a document of grade 1 satisfies with 1/16. Five relevant documents of binary judgements on top have ERR@5 0.13,
# of grade 2 0.35, and nothing warns. nDCG of these lists is 1. ERR has no parameter for the scale.
# Why it matters: with binary judgements, or those of MS MARCO (0 to 3), ERR is nearly a count of relevant documents,
# without the cascade that it is chosen for, and its figures cannot be compared over collections of other scales or
# with tools that scale by the highest grade.
# Source: ir_measures, providers/gdeval_provider.py and its gdeval.pl ($MAX_JUDGMENT = 4).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 numpy==1.26.4 scipy==1.17.1

expected='five documents of grade 1: ERR@5 0.13, nDCG@5 1.00
five documents of grade 2: ERR@5 0.35, nDCG@5 1.00
five documents of grade 3: ERR@5 0.63, nDCG@5 1.00
five documents of grade 4: ERR@5 0.97, nDCG@5 1.00'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import ir_measures
from ir_measures import ERR, Qrel, ScoredDoc, nDCG

run = [ScoredDoc("1", f"d{rank}", 10 - rank) for rank in range(5)]
for grade in (1, 2, 3, 4):
    qrels = [Qrel("1", document.doc_id, grade) for document in run]
    values = ir_measures.calc_aggregate([ERR @ 5, nDCG @ 5], qrels, run)
    print(f"five documents of grade {grade}: ERR@5 {values[ERR @ 5]:.2f}, nDCG@5 {values[nDCG @ 5]:.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
