#!/usr/bin/env bash
# Guess: the document frequency of a word is a number of documents, and a word of all documents says nothing about any
# of them.
# Behaviour: in lunr 0.8.0 (Python) a document counts once for each field that holds the word. With a title and a body,
# a word of all titles and bodies has twice as many documents as there are, and of the negative number under the
# logarithm lunr takes the absolute value: it weighs as much as a word of 67 % of the bodies, while a word of all bodies
# alone weighs nothing.
# Why it matters: the name of a product that stands in title and body of every page outweighs words that a third of the
# pages lack.
# Source: lunr, lunr/idf.py (idf).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lunr==0.8.0

expected='apex (all titles and bodies): idf 0.403
motor (67 of 100 bodies): idf 0.403
bolt (all bodies): idf 0.005'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from lunr import lunr
from lunr.idf import idf

documents = [
    {"id": str(number), "title": "apex", "body": "apex motor" if number < 67 else "apex"} for number in range(100)
]
index = lunr(ref="id", fields=("title", "body"), documents=[{**d, "body": d["body"] + " bolt"} for d in documents])
for word, where in (("apex", "all titles and bodies"), ("motor", "67 of 100 bodies"), ("bolt", "all bodies")):
    posting = next(index.inverted_index[term] for term in index.inverted_index if term.startswith(word))
    print(f"{word} ({where}): idf {idf(posting, 100):.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
