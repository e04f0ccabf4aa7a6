#!/usr/bin/env bash
# Guess: DocumentRetrievalEvaluator of azure-ai-evaluation is told the lowest and the highest label, and scales its XDCG
# by them: a perfect list is 100.
# Behaviour: in azure-ai-evaluation 1.18.10 XDCG multiplies the label itself by 25. That is 100 for labels up to 4, the
# default; with relevant and not relevant (0 and 1) a perfect list has 25, and fails at the default threshold of 50,
# and with labels up to 10 it has 250. NDCG of these lists is 1. A result without judgement adds 0, and every list of
# less than three is divided as three.
# Why it matters: binary judgements are the most frequent ones; the evaluation reports failed retrieval of a system
# that finds nothing but relevant documents, and figures of two scales are compared in one table.
# Source: azure-ai-evaluation, _evaluators/_document_retrieval/_document_retrieval.py (_compute_xdcg).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    azure-ai-evaluation==1.18.10

expected='labels 0 to 1: NDCG@3 1.00, XDCG@3 25 fail
labels 0 to 4: NDCG@3 1.00, XDCG@3 100 pass
labels 0 to 10: NDCG@3 1.00, XDCG@3 250 pass'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from azure.ai.evaluation import DocumentRetrievalEvaluator

documents = [f"d{number}" for number in range(5)]
for highest in (1, 4, 10):
    evaluator = DocumentRetrievalEvaluator(ground_truth_label_min=0, ground_truth_label_max=highest)
    result = evaluator(
        retrieval_ground_truth=[{"document_id": name, "query_relevance_label": highest} for name in documents],
        retrieved_documents=[{"document_id": name, "relevance_score": -place} for place, name in enumerate(documents)],
    )
    values = result.get("document_retrieval_properties", result)
    xdcg = f"XDCG@3 {values['xdcg@3']:.0f} {values['xdcg@3_result']}"
    print(f"labels 0 to {highest}: NDCG@3 {values['ndcg@3']:.2f}, {xdcg}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
