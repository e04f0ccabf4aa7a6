#!/usr/bin/env bash
# Guess: in a hybrid query of redisvl, alpha=0.7 gives the vectors 70 % of the score, as in Weaviate, where both parts
# are brought to the same scale.
# Behaviour: the query that redisvl 0.28.0 sends is 0.3 * BM25 + 0.7 * (2 - distance) / 2: BM25 as it is, which has no
# upper bound, beside a similarity between 0 and 1. No part is normalised.
# Why it matters: the share of the two parts depends on idf, the number of words of the query and the size of the
# index; with usual scores of BM25 (5 to 30) the vectors decide among equals alone, and an alpha that was chosen for
# Weaviate or on a small index means something else.
# Source: redisvl, query/aggregate.py (AggregateHybridQuery: add_scores, hybrid_score).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    redisvl==0.28.0

expected='(2 - @vector_distance)/2 AS vector_similarity
@__score AS text_score
0.30000000000000004*@text_score + 0.7*@vector_similarity AS hybrid_score
scorer: BM25STD'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from redisvl.query import AggregateHybridQuery

query = AggregateHybridQuery(
    text="heat flow", text_field_name="text", vector=[0.1, 0.2], vector_field_name="vector", alpha=0.7, stopwords=None
)
_, *applied = str(query).split(" APPLY ")
for part in applied:
    print(part.split(" SORTBY ")[0])
print("scorer:", str(query).split("SCORER ")[1].split()[0])
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
