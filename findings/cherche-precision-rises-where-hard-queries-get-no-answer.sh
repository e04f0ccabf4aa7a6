#!/usr/bin/env bash
# Guess: Precision@5 of Cherche's `evaluation` is the mean over the queries of the relevant documents among the first
# five, divided by five, or by the length of the list; F1@5 is the mean of the queries.
# Behaviour: in cherche 2.2.1 precision is that of all results of all queries together: a query without results is not
# in it, and one with a short list counts less. F1 is computed from this precision and the mean recall. A search that
# returns nothing for a hard query has 16.67 % in place of 9.09 %, with the same recall and the same relevant document.
# Why it matters: a pipeline with an intersection or a threshold, which is what is compared here, answers fewer queries
# and returns shorter lists; it is reported as more precise, and its F1 as higher, for what it leaves out.
# Source: Cherche, evaluate/evaluate.py (precision[k].update for each candidate).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    --no-deps cherche==2.2.1 numpy==2.3.5 scipy==1.17.1 scikit-learn==1.8.0 joblib==1.5.3 threadpoolctl==3.6.0 \
    tqdm==4.67.1

expected='nothing for a hard query: Precision@5 16.67%, Recall@5 33.33%, F1@5 22.22%
five wrong documents for it: Precision@5 9.09%, Recall@5 33.33%, F1@5 14.29%
mean of the queries over five: Precision@5 6.67%'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from cherche.evaluate import evaluation


class Search:
    """Returns the lists that it was given, in the form of a retriever of Cherche."""

    key = "id"

    def __init__(self, lists):
        self.lists = lists

    def __call__(self, q, **_):
        return [[{"id": doc} for doc in self.lists[query]] for query in q]


relevant = [(query, [{"id": "r"}]) for query in ("easy", "hard", "other")]
for name, answer in (("nothing for a hard query", []), ("five wrong documents for it", list("abcde"))):
    search = Search({"easy": ["r"], "hard": answer, "other": list("fghij")})
    values = evaluation(search, relevant, hits_k=range(5, 6))
    print(f"{name}: {', '.join(f'{measure} {values[measure]}' for measure in ('Precision@5', 'Recall@5', 'F1@5'))}")
print(f"mean of the queries over five: Precision@5 {(1 + 0 + 0) / 5 / 3:.2%}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
