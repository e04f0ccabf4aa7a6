#!/usr/bin/env bash
# Guess: NDCG@10 of a query with many relevant documents is low where a system returns one of them and nothing else.
# Behaviour: in MLflow 3.17.2 the ideal list of ndcg_at_k is cut at the number of documents that were retrieved, if this
# is below k. One relevant document of five, returned alone, has 1.0; with irrelevant ones behind it, it has less. A
# relevant document that is returned twice counts as two relevant ones.
# Why it matters: a retriever that returns less looks better, and chunks of the same document, whose id comes again,
# fill the ideal list with themselves.
# Source: MLflow, mlflow/metrics/metric_definitions.py (_ndcg_at_k_eval_fn, _expand_duplicate_retrieved_docs).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    mlflow-skinny==3.17.2 numpy==2.3.5 pandas==2.3.3 scikit-learn==1.7.2 scipy==1.16.3

expected='a - NDCG@10 1.000, recall@10 0.200
a x y - NDCG@10 0.469, recall@10 0.200
a a a - NDCG@10 1.000, recall@10 0.200
a b c - NDCG@10 1.000, recall@10 0.600'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pandas as pd
from mlflow.metrics import ndcg_at_k, recall_at_k

relevant = pd.Series([["a", "b", "c", "d", "e"]])
for retrieved in (["a"], ["a", "x", "y"], ["a", "a", "a"], ["a", "b", "c"]):
    values = [m(10).eval_fn(pd.Series([retrieved]), relevant).scores[0] for m in (ndcg_at_k, recall_at_k)]
    print(*retrieved, "- NDCG@10 {:.3f}, recall@10 {:.3f}".format(*values))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
