#!/usr/bin/env bash
# Guess: the documents that a BM25 library finds are in the order of the scores that it computes.
# Behaviour: in fastbm25 0.0.2, top_k_sentence adds up scores that were rounded to two decimals for each word and
# document, while similarity_bm25 does not round. Documents that differ by less come in the order of the corpus: the
# worse one first, if it was given first.
# Why it matters: in a collection of passages of nearly the same length most differences are that small; another order
# of the corpus gives another run.
# Source: fastbm25, fastbm25.py (get_score_by_reversed_index_all_documents).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    fastbm25==0.0.2 numpy==1.26.4 six==1.17.0

expected='passage 0: search 2.7800, similarity 2.7826
passage 1: search 2.7800, similarity 2.7838'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from fastbm25 import fastbm25


def passage(number, n_words):
    return ["heat"] * (number < 2) + [f"w{number}-{place}" for place in range(n_words)]


lengths = [1001, 1000] + [1000] * 40  # the second passage is the better one
corpus = [passage(number, length) for number, length in enumerate(lengths)]
index = fastbm25(corpus)
for _, number, score in index.top_k_sentence(["heat"], 2):
    exact = index.similarity_bm25(["heat"], corpus[number])
    print(f"passage {number}: search {score:.4f}, similarity {exact:.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
