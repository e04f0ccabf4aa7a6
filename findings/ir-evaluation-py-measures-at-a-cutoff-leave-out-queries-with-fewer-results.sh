#!/usr/bin/env bash
# Guess: precision at 10 of ir_evaluation_py divides by 10, or by the number of results where there are fewer; the mean
# is over the queries that were given. Its R-precision is the precision at the number of relevant documents.
# Behaviour: ir_evaluation_py 1.0.0 leaves a query out of every measure at a cutoff where it has fewer results. Of two
# queries, one with ten results of which one is relevant and one with nine that all are, precision at 10 is .1, at 5 it
# is .6; a count of 1 beside the value tells it. R-precision is recall: of the relevant documents found at any rank.
# Why it matters: hard and narrow queries have short lists. Each cutoff is a mean of other queries, and a system that
# returns fewer wrong results is judged on those where it returns many.
# Source: ir_evaluation_py, effectiveness.py (ap_at_n: if total_result >= cutoff; rprecision:
# related/len(related_documents)).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ir-evaluation-py==1.0.0

expected='long: precision at 5 0.20 of 1, at 10 0.10 of 1
short: precision at 5 1.00 of 1, at 10 0.00 of 0
long and short: precision at 5 0.60 of 2, at 10 0.10 of 1
relevant 1 1 0 0 0 0: R-precision 1.00
relevant 0 0 0 0 1 1: R-precision 1.00'

observed=$("$folder/venv/bin/python" - <<'EOF'
from ir_evaluation.effectiveness import effectiveness


def make_query(relevant):
    ranks = {f"d{rank}": rank for rank, grade in enumerate(relevant, start=1) if grade}
    return {
        "total_result": len(relevant),
        "related_documents": list(ranks),
        "visited_documents": list(ranks),
        "visited_documents_orders": ranks,
    }


measures = effectiveness()
queries = {"long": make_query([1] + [0] * 9), "short": make_query([1] * 9)}
for names in (["long"], ["short"], ["long", "short"]):
    values = measures.ap_at_n({name: queries[name] for name in names}, [5, 10])
    shown = (f"at {k} {value['value']:.2f} of {value['count']}" for k, value in values.items())
    print(f"{' and '.join(names)}: precision {', '.join(shown)}")
for relevant in ([1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1]):
    value = measures.rprecision({"1": make_query(relevant)})["all"]["value"]
    print(f"relevant {' '.join(map(str, relevant))}: R-precision {value:.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
