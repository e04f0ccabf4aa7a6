#!/usr/bin/env bash
# Guess: TreebankWordTokenizer splits a text into words and punctuation, full stops as well.
# Behaviour: in NLTK 3.10.4 a full stop is split off at the end of the whole string alone: it expects one sentence. In
# a document of several sentences, the last word of each but the last keeps its stop. Quotation marks become two other
# tokens, and cannot becomes can and not.
# Why it matters: passed whole to BM25 (it needs no data to be downloaded, unlike word_tokenize), a document loses the
# last word of each sentence: "flow" and "flow." are two words of the index, and short queries, without a stop, miss
# one.
# Source: nltk, tokenize/treebank.py (STARTING_QUOTES, PUNCTUATION: a full stop before the end of the string; its text
# says that sentences are split before).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    nltk==3.10.4 rank-bm25==0.2.2 numpy==1.26.4

expected='We measure the flow. It can not move. It is cold .
flow: matches of the first two documents: [False, True]
heat flow: matches of the first two documents: [True, True]'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from nltk.tokenize import TreebankWordTokenizer
from rank_bm25 import BM25Okapi

tokenize = TreebankWordTokenizer().tokenize
text = "We measure the flow. It cannot move. It is cold."
print(*tokenize(text))
texts = ["We measure the heat flow. It is cold.", "The flow is cold.", *4 * ["A wing of steel."]]
ranker = BM25Okapi([tokenize(text.lower()) for text in texts])
for query in ("flow", "heat flow"):
    scores = ranker.get_scores(tokenize(query))
    print(f"{query}: matches of the first two documents: {[bool(score) for score in scores[:2]]}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
