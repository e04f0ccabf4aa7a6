#!/usr/bin/env bash
# Guess: delta of BM25Plus, the lower bound of a matching word, lifts long documents that match over ones that do not.
# Behaviour: in rank_bm25 0.2.2, a document without the word gets delta * IDF, too: delta adds the same number to the
# scores of all documents, and 0, 1 and 100 give the same differences. A document without any word of the query has a
# positive score.
# Why it matters: delta cannot be tuned; "score > 0" does not mean a match, and fusion or thresholds on scores see
# hits everywhere.
# Source: rank_bm25, BM25Plus.get_scores; Lv and Zhai, CIKM 2011, add delta for words that occur in the document.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    rank-bm25==0.2.2 numpy==1.26.4

expected='delta 0: no match 0.00, differences to it 0.90 1.35
delta 1: no match 1.10, differences to it 0.90 1.35
delta 100: no match 109.86, differences to it 0.90 1.35'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from rank_bm25 import BM25Plus

texts = ["cat dog bird", "cat cat dog", "fish", "dog cow", "pig"]
docs = [text.split() for text in texts]
for delta in (0, 1, 100):
    first, second, none, *_ = BM25Plus(docs, delta=delta).get_scores(["cat"])
    print(f"delta {delta}: no match {none:.2f}, differences to it {first - none:.2f} {second - none:.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
