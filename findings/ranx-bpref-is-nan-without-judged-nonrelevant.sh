#!/usr/bin/env bash
# Guess: Bpref of a query whose judged documents are all relevant is the share of them that was retrieved, as in
# trec_eval.
# Behaviour: in ranx 0.3.21 it is NaN as soon as one of them is retrieved, as 0 is divided by 0, and the mean over all
# queries is NaN.
# Why it matters: MS MARCO and most sets of BEIR have positive labels only; one such query removes the figure of the
# whole collection.
# Source: ranx, metrics/bpref.py (division by the smaller of both counts); trec_eval, m_bpref.c (treats that case on
# its own).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ranx==0.3.21 numba==0.68.1 llvmlite==0.50.0 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6 pytrec-eval-terrier==0.5.11

expected='ranx: mean nan, queries nan 1.0
trec_eval: 0.5 1.0'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pytrec_eval
from ranx import Qrels, Run, evaluate

qrels = {"1": {"a": 1, "b": 1}, "2": {"c": 1, "d": 0}}
run = {"1": {"a": 2.0, "x": 1.0}, "2": {"c": 1.0, "d": 0.5}}
ranked = Run(run)
mean = evaluate(Qrels(qrels), ranked, "bpref")
print(f"ranx: mean {mean}, queries", *ranked.scores["bpref"].values())
values = pytrec_eval.RelevanceEvaluator(qrels, {"bpref"}).evaluate(run)
print("trec_eval:", *(values[query]["bpref"] for query in sorted(values)))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
