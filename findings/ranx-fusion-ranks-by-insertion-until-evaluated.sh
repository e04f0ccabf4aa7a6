#!/usr/bin/env bash
# Guess: fuse(method="rrf") ranks the documents of a run by their scores, and evaluating a run does not change it.
# Behaviour: ranx 0.3.21 takes the order in which documents were put into the run. A run filled with Run.add_score is
# sorted when it is evaluated or saved, but not when it is fused: the same fusion has MRR 0.2 before that and 1.0
# after it.
# Why it matters: a fused run depends on whether its parts were evaluated first, for rrf, isr, rbc, bordafuse and
# condorcet.
# Source: ranx, data_structures/run.py (add_score clears Run.sorted, to_typed_list sorts), meta/fuse.py and
# fusion/rrf.py (do not look at it).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ranx==0.3.21 numba==0.68.1 llvmlite==0.50.0 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6

expected='fused before evaluation: 0.2
the run alone: 1.0
fused after evaluation: 1.0'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from ranx import Qrels, Run, evaluate, fuse

qrels = Qrels({"1": {"top": 1}})
first = Run(name="first")
for doc, score in (("low", 1.0), ("mid", 2.0), ("top", 3.0)):
    first.add_score("1", doc, score)
second = Run({"1": {"z": 5.0, "y": 4.0, "x": 3.0}}, name="second")
print("fused before evaluation:", evaluate(qrels, fuse([first, second], method="rrf"), "mrr"))
print("the run alone:", evaluate(qrels, first, "mrr"))
print("fused after evaluation:", evaluate(qrels, fuse([first, second], method="rrf"), "mrr"))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
