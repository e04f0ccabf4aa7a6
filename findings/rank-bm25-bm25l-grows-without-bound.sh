#!/usr/bin/env bash
# Guess: BM25L saturates: the tenth occurrence of a word adds much less than the first.
# Behaviour: in rank_bm25 0.2.2 the score is multiplied by the number of occurrences once more. In documents of equal
# length, 32 occurrences weigh 61 times as much as one; in BM25Okapi 2.4 times.
# Why it matters: repetition decides the order, which BM25 is there to prevent; a comparison with this class compares
# another formula than the published one.
# Source: rank_bm25, BM25L.get_scores (factor q_freq); Lv and Zhai, SIGIR 2011, have no such factor.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    rank-bm25==0.2.2 numpy==1.26.4

expected='BM25L: 1 2.5 6.0 13.6 29.3 61.2
BM25Okapi: 1 1.4 1.8 2.1 2.3 2.4'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from rank_bm25 import BM25L, BM25Okapi

for kind in (BM25L, BM25Okapi):
    scores = []
    for count in (1, 2, 4, 8, 16, 32):
        docs = [["word"] * count + ["other"] * (40 - count)] + 4 * [40 * ["another"]]
        scores.append(kind(docs).get_scores(["word"])[0])
    print(f"{kind.__name__}: 1", *(f"{score / scores[0]:.1f}" for score in scores[1:]))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
