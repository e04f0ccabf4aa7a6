#!/usr/bin/env bash
# Guess: calculate_ndcg(topics) and the nDCG of calculate(topics) are the same figure.
# Behaviour: in elasticsearch-ir-evaluator 0.4.4 the ideal of calculate_ndcg is the best order of what was found, and
# relevant documents that were not found do not count. That of calculate has all relevant documents, up to the number
# of results. One relevant document of four at rank 1 of four has 1 and 0.39.
# Why it matters: by the first method a search that finds one easy document is perfect, and a longer list can lower its
# value; results of one package do not compare.
# Source: elasticsearch_ir_evaluator/evaluator.py (calculate_ndcg: ideal_scores; calculate: idcg).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    elasticsearch-ir-evaluator==0.4.4 elasticsearch==8.15.1 numpy==1.26.4

expected='r1 n1 n2 n3: calculate_ndcg 1.000 calculate 0.390
r1 n1 n2 r2: calculate_ndcg 0.877 calculate 0.559
r1 r2 r3 n1: calculate_ndcg 1.000 calculate 0.832'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from elasticsearch_ir_evaluator import ElasticsearchIrEvaluator, QandA


class Ranked:
    """A client that answers each question with the documents that the question lists."""

    def search(self, query, **rest):
        names = query["match"]["text"].split()
        return {"hits": {"hits": [{"_source": {"id": name}} for name in names]}}


evaluator = ElasticsearchIrEvaluator(Ranked())
for order in ("r1 n1 n2 n3", "r1 n1 n2 r2", "r1 r2 r3 n1"):
    topics = [QandA(question=order, answers=["r1", "r2", "r3", "r4"])]
    alone, among_others = evaluator.calculate_ndcg(topics), evaluator.calculate(topics).nDCG
    print(f"{order}: calculate_ndcg {alone:.3f} calculate {among_others:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
