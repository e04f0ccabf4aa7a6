#!/usr/bin/env bash
# Guess: the figures of one evaluator are means over the same queries.
# Behaviour: for a run with one of two judged queries, EvaluateRetrieval of beir 2.2.0 divides NDCG, MAP, Recall and P
# by 1, the queries that pytrec_eval returned, and MRR, R_cap, Hole and Accuracy by 2, the queries of the qrels.
# Why it matters: a retriever that returns nothing for hard queries gains NDCG and loses MRR; the two columns of a
# table are of two populations.
# Source: beir, retrieval/evaluation.py (evaluate: number of scores) and retrieval/custom_metrics.py (number of
# qrels).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pytrec-eval-terrier==0.5.11 numpy==1.26.4 requests==2.34.2 tqdm==4.70.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps beir==2.2.0

expected='NDCG@10 1.0, Recall@10 1.0
MRR@10 0.5, Accuracy@10 0.5'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from beir.retrieval.evaluation import EvaluateRetrieval

qrels = {"1": {"a": 1}, "2": {"b": 1}}
run = {"1": {"a": 2.0, "x": 1.0}}
ndcg, _, recall, _ = EvaluateRetrieval.evaluate(qrels, run, [10])
mrr, accuracy = (EvaluateRetrieval.evaluate_custom(qrels, run, [10], name) for name in ("mrr", "acc"))
print(f"NDCG@10 {ndcg['NDCG@10']}, Recall@10 {recall['Recall@10']}")
print(f"MRR@10 {mrr['MRR@10']}, Accuracy@10 {accuracy['Accuracy@10']}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
