#!/usr/bin/env bash
# Guess: Hole@k of BEIR is the share of the first k documents that are not judged for the query.
# Behaviour: in beir 2.2.0 a document is no hole where any query of the collection has a judgement of it; three
# lists without a judged document of their query have Hole@2 of 0.
# Why it matters: the measure is there to find runs that pools are unfair to; with many topics on the same documents
# it reports far fewer unjudged documents than there are.
# Source: beir, retrieval/custom_metrics.py (hole: annotated_corpus is one set for all queries).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pytrec-eval-terrier==0.5.11 numpy==1.26.4 requests==2.34.2 tqdm==4.70.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps beir==2.2.0

expected='unjudged 0.0 hole 0.0
unjudged 1.0 hole 0.0
unjudged 1.0 hole 1.0'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from beir.retrieval.evaluation import EvaluateRetrieval

qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 1, "d": 0}}
for run in (
    {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 2.0, "d": 1.0}},
    {"1": {"c": 2.0, "d": 1.0}, "2": {"a": 2.0, "b": 1.0}},
    {"1": {"x": 2.0, "y": 1.0}, "2": {"x": 2.0, "y": 1.0}},
):
    unjudged = [doc not in qrels[query] for query, docs in run.items() for doc in docs]
    print("unjudged", sum(unjudged) / 4, "hole", EvaluateRetrieval.evaluate_custom(qrels, run, [2], "hole")["Hole@2"])
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
