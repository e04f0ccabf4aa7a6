#!/usr/bin/env bash
# Guess: filter_extremes(no_above=0.9) of gensim's Dictionary drops the words that more than nine of ten documents
# have.
# Behaviour: gensim 4.4.0 drops at the same time all words that fewer than 5 documents have (no_below=5) and keeps at
# most the 100,000 most frequent of the rest. In a collection of fewer than 5 documents nothing is left; below, wing
# and quasar go with the word of all documents.
# Why it matters: the words that are dropped are those of highest idf, names and numbers of topics: queries lose what
# decides, BM25 and TF-IDF rank by what is left, and small collections of a test behave unlike large ones.
# Source: gensim, corpora/dictionary.py (filter_extremes: no_below=5, no_above=0.5, keep_n=100000).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    gensim==4.4.0 numpy==1.26.4 scipy==1.12.0

expected='{no_above: 0.9}: flow heat of
{no_above: 0.9, no_below: 1}: flow heat of quasar wing
{no_above: 0.9, no_below: 1, keep_n: 2}: flow heat'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from gensim.corpora import Dictionary

texts = 5 * ["the flow of heat"] + 4 * ["the wing"] + ["the quasar"]
for limits in ({"no_above": 0.9}, {"no_above": 0.9, "no_below": 1}, {"no_above": 0.9, "no_below": 1, "keep_n": 2}):
    dictionary = Dictionary([text.split() for text in texts])
    dictionary.filter_extremes(**limits)
    print(f"{limits}: {' '.join(sorted(dictionary.token2id))}".replace(chr(39), ""))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
