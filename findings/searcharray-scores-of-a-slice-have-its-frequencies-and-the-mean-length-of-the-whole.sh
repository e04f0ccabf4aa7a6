#!/usr/bin/env bash
# Guess: the BM25 scores of a slice of a SearchArray are the scores of these rows, or those of a new index of them.
# Behaviour: neither: document frequencies and the number of documents are those of the slice, the mean length is that
# of the whole array (searcharray 0.0.73).
# Why it matters: a filter before the score (`frame[frame.year > 2000].title.array.score(...)`) is the usual way in
# pandas; scores of two filters cannot be compared, and scores before and after a filter are other ones.
# Source: searcharray/postings.py: docfreq counts the rows of the view, avg_doc_length is carried over.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check searcharray==0.0.73 numpy==2.3.4 pandas==3.0.6

expected='scores of the first three rows [0.2994000017642975, 0.2628999948501587, 0.0]
scores of the slice            [0.4864000082015991, 0.4271000027656555, 0.0]
scores of an index of them     [0.21359999477863312, 0.17739999294281006, 0.0]
frequency 3 2 2
mean length 3.6 3.6 2.0'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import logging

from searcharray import SearchArray

logging.disable(logging.CRITICAL)
texts = ["heat wing", "heat flow flow", "ship", "heat heat ship flow", "anchor chain of a ship in a port"]
whole = SearchArray.index(texts)
part = whole[:3]
alone = SearchArray.index(texts[:3])
print("scores of the first three rows", whole.score("heat")[:3].round(4).tolist())
print("scores of the slice           ", part.score("heat").round(4).tolist())
print("scores of an index of them    ", alone.score("heat").round(4).tolist())
print("frequency", whole.docfreq("heat"), part.docfreq("heat"), alone.docfreq("heat"))
print("mean length", *(round(float(each.avg_doc_length), 2) for each in (whole, part, alone)))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
