#!/usr/bin/env bash
# Guess: bpref takes something away from a relevant document for each judged nonrelevant document above it.
# Behaviour: elasticsearch-ir-evaluator 0.4.4 counts the judged nonrelevant documents below. A list with all relevant
# documents first has bpref 0, the same list turned round has 1; where no topic has judged nonrelevant documents it is
# the recall.
# Why it matters: the better the ranking, the lower the figure, in the same table as NDCG and MAP; a comparison of two
# analyzers by bpref prefers the worse.
# Source: elasticsearch_ir_evaluator/evaluator.py (calculate and calculate_bpref: index(d) > index(doc_id)).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    elasticsearch-ir-evaluator==0.4.4 elasticsearch==8.15.1 numpy==1.26.4

expected='r1 r2 n1 n2: bpref 0.000 0.000 MAP 1.000
r1 n1 r2 n2: bpref 0.250 0.250 MAP 0.833
n1 n2 r1 r2: bpref 1.000 1.000 MAP 0.417'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from elasticsearch_ir_evaluator import ElasticsearchIrEvaluator, QandA


class Ranked:
    """A client that answers each question with the documents that the question lists."""

    def search(self, query, **rest):
        names = query["match"]["text"].split()
        return {"hits": {"hits": [{"_source": {"id": name}} for name in names]}}


evaluator = ElasticsearchIrEvaluator(Ranked())
for order in ("r1 r2 n1 n2", "r1 n1 r2 n2", "n1 n2 r1 r2"):
    topics = [QandA(question=order, answers=["r1", "r2"], negative_answers=["n1", "n2"])]
    found = evaluator.calculate(topics)
    print(f"{order}: bpref {found.BPref:.3f} {evaluator.calculate_bpref(topics):.3f} MAP {found.MAP:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
