#!/usr/bin/env bash
# Guess: Haystack's DocumentRecallEvaluator says which share of the relevant documents was retrieved.
# Behaviour: in Haystack 3.4.1 its mode is single_hit by default: 1 if any relevant document is among the retrieved
# ones, as Success or a hit rate. mode="multi_hit" is recall.
# Why it matters: the figure stays at 1 while documents get lost, and cannot be compared with recall of any other tool;
# questions with several relevant documents look solved.
# Source: haystack, components/evaluators/document_recall.py (RecallMode.SINGLE_HIT by default).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    haystack-ai==3.4.1

expected='relevant a b c, retrieved a b c: recall 1.0, multi_hit 1.0
relevant a b c, retrieved a x y: recall 1.0, multi_hit 0.333
relevant a b c, retrieved x y z: recall 0.0, multi_hit 0.0'

cd "$folder"
export HAYSTACK_TELEMETRY_ENABLED=False
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from haystack import Document
from haystack.components.evaluators import DocumentRecallEvaluator


def documents(*texts):
    return [Document(content=text) for text in texts]


relevant = documents("a", "b", "c")
for texts in ("abc", "axy", "xyz"):
    scores = []
    for mode in ({}, {"mode": "multi_hit"}):
        evaluator = DocumentRecallEvaluator(**mode)
        result = evaluator.run(ground_truth_documents=[relevant], retrieved_documents=[documents(*texts)])
        scores.append(round(result["score"], 3))
    print(f"relevant a b c, retrieved {' '.join(texts)}: recall {scores[0]}, multi_hit {scores[1]}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
