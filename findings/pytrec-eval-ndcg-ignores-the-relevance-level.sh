#!/usr/bin/env bash
# Guess: RelevanceEvaluator(relevance_level=2) takes documents of label 1 as not relevant in all its measures.
# Behaviour: in pytrec_eval-terrier 0.5.11 AP, RR, Rprec and P change with the level; ndcg and ndcg_cut do not, and
# count label 1 with gain 1.
# Why it matters: a table of one call mixes measures of two notions of relevance: trec_eval's option -l has the same
# rule, but there the page of each measure says it.
# Source: trec_eval, m_ndcg.c (gains of all labels above 0); pytrec_eval, relevance_level.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pytrec-eval-terrier==0.5.11

expected='P_2 changes
Rprec changes
map changes
ndcg is the same
ndcg_cut_2 is the same
recip_rank changes'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pytrec_eval

qrels = {"q": {"a": 1, "b": 2, "c": 1}}
run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
values = [
    pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank", "Rprec", "P.2", "ndcg", "ndcg_cut.2"}, relevance_level=level)
    .evaluate(run)["q"]
    for level in (1, 2)
]
for name in sorted(values[0]):
    print(name, "changes" if values[0][name] != values[1][name] else "is the same")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
