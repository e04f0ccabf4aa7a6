#!/usr/bin/env bash
# Guess: the first 10 of retrieve(k=20) are the result of retrieve(k=10), also where scores are equal.
# Behaviour: in bm25s 0.3.16 this fails for documents of equal scores: the top k come from numpy's argpartition, which
# puts equal ones in no order that holds for another k. Documents change ranks with k, and some leave the list.
# Why it matters: a run of depth 100 that is cut to 10 is not the run of depth 10, and P@10 changes with the depth of
# retrieval.
# Source: bm25s, selection.py (topk, argpartition, then a sort of what it left); numpy's text of argpartition says
# that the order of equal elements is undefined.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    bm25s==0.3.16 numpy==1.26.4

expected='scores of all depths are equal: True
depths from 1 to 25 at which the list is no prefix of that of twice the depth: some'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import bm25s


def tokens(texts):
    return bm25s.tokenize(texts, stopwords=None, show_progress=False)


ranker = bm25s.BM25()
ranker.index(tokens(50 * ["heat flow"]), show_progress=False)
query = tokens(["heat"])
lists = {k: ranker.retrieve(query, k=k, show_progress=False) for k in range(1, 51)}
equal = len({float(score) for found in lists.values() for score in found.scores[0]}) == 1
print("scores of all depths are equal:", equal)
ids = {k: found.documents[0].tolist() for k, found in lists.items()}
changed = [k for k in range(1, 26) if ids[k] != ids[2 * k][:k]]
what = "some" if changed else "none"
print("depths from 1 to 25 at which the list is no prefix of that of twice the depth:", what)
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
