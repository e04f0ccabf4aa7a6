#!/usr/bin/env bash
# Guess: Judged@k is, as its documentation says, "equivalent to P@k with a rel lower than any judgment": where all
# retrieved documents are judged and relevant, Judged@k and P@k are the same, and Judged@k is never below P@k.
# Behaviour: in ir_measures 0.4.3 it differs in two ways. P@k is divided by k and Judged@k by the length of a shorter
# list: five relevant documents have P@10 .5 and Judged@10 1. Of equal scores, P takes the higher document id first and
# Judged the lower one: a list can have P@1 1 and Judged@1 0, a relevant document at the top that nobody judged.
# Why it matters: the two stand side by side to say how much of a low P@k is for want of judgements; in short lists
# empty ranks do not show, and where scores tie it is the share of other documents.
# Source: ir_measures/measures/judged.py (the sentence), ir_measures/providers/judged_provider.py (sorted by -score and
# id; cutoff = len(cutoff_run)).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir_measures==0.4.3 pytrec_eval-terrier==0.5.11 numpy==2.3.5

expected='five documents, all relevant: Judged@10 1.0, P@10 0.5
five documents, all relevant: Judged@5 1.0, P@5 1.0
two documents of one score: Judged@1 0.0, P@1 1.0'

observed=$("$folder/venv/bin/python" - <<'EOF'
import ir_measures
from ir_measures import Judged, P

five = {"oak": {f"d{rank}": 1 for rank in range(5)}}
five_scores = {"oak": {f"d{rank}": 9.0 - rank for rank in range(5)}}
cases = [
    ("five documents, all relevant", 10, five, five_scores),
    ("five documents, all relevant", 5, five, five_scores),
    ("two documents of one score", 1, {"oak": {"d2": 1}}, {"oak": {"d1": 3.0, "d2": 3.0}}),
]
for name, cutoff, judged, run in cases:
    values = ir_measures.calc_aggregate([Judged @ cutoff, P @ cutoff], judged, run)
    print(f"{name}:", ", ".join(f"{measure} {values[measure]}" for measure in (Judged @ cutoff, P @ cutoff)))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
