#!/usr/bin/env bash
# Guess: the measures of LlamaIndex for retrieval are at most 1, and count a document that is retrieved twice once.
# Behaviour: in llama-index-core 0.14.25 each occurrence counts again: one relevant id, retrieved twice, has an
# average precision of 2 and an nDCG of 1.63.
# Why it matters: where the ids are those of documents, and what is retrieved are their chunks, an id comes as often
# as it has chunks in the list; the mean over queries hides it.
# Source: llama-index-core, evaluation/retrieval/metrics.py (AveragePrecision, NDCG).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    llama-index-core==0.14.25

expected='ap 1.0 2.0
ndcg 1.0 1.6309
recall 1.0 1.0
mrr 1.0 1.0'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from llama_index.core.evaluation.retrieval.metrics import METRIC_REGISTRY

for name in ("ap", "ndcg", "recall", "mrr"):
    measure = METRIC_REGISTRY[name]()
    values = (measure.compute(expected_ids=["a"], retrieved_ids=ids).score for ids in (["a", "x"], ["a", "a"]))
    print(name, *(round(value, 4) for value in values))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
