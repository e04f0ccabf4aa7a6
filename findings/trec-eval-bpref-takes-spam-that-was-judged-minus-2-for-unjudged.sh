#!/usr/bin/env bash
# Guess: a grade below zero says that a document was judged and is not relevant, as -2 says of spam in the judgements of
# TREC's web tracks: bpref and infAP count such a document like one of grade 0.
# Behaviour: the trec_eval code in pytrec_eval-terrier 0.5.11 takes every grade below zero for "not judged" in bpref and
# infAP. A run with two documents of spam above the relevant ones has a bpref of 0 with the grade 0 for spam, and of 1
# with -2; infAP goes from .417 to .833. P, AP and nDCG are the same for both.
# Why it matters: bpref is the measure for runs that were not in the pool, and spam is what they differ in: with the
# files as TREC published them it costs nothing; with the same files cut at 0, as many tools do it, everything.
# Source: trec_eval, trec_eval.h and m_bpref.c (RELVALUE_NONPOOL is -1, RELVALUE_UNJUDGED is -2).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pytrec_eval-terrier==0.5.11 numpy==2.3.5

expected='spam of grade 0: bpref 0.000, infAP 0.417, P_5 0.400, map 0.417, ndcg 0.571, judged nonrelevant 3
spam of grade -1: bpref 1.000, infAP 0.833, P_5 0.400, map 0.417, ndcg 0.571, judged nonrelevant 1
spam of grade -2: bpref 1.000, infAP 0.833, P_5 0.400, map 0.417, ndcg 0.571, judged nonrelevant 1'

observed=$("$folder/venv/bin/python" - <<'EOF'
import pytrec_eval

run = {"oak": {"spam 1": 5.0, "spam 2": 4.0, "relevant 1": 3.0, "relevant 2": 2.0, "other": 1.0}}
for grade in (0, -1, -2):
    judged = {"oak": {"relevant 1": 1, "relevant 2": 1, "other": 0, "spam 1": grade, "spam 2": grade}}
    measures = {"bpref", "infAP", "P", "map", "ndcg", "num_nonrel_judged_ret"}
    values = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(run)["oak"]
    figures = ", ".join(f"{name} {values[name]:.3f}" for name in ("bpref", "infAP", "P_5", "map", "ndcg"))
    print(f"spam of grade {grade}: {figures}, judged nonrelevant {values['num_nonrel_judged_ret']:.0f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
