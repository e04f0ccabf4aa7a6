#!/usr/bin/env bash
# Guess: the phrase `very very` is three times in `very very very very`, as Lucene counts it.
# Behaviour: searcharray 0.0.73 counts 2, and 1 in a text of three: where the words of a phrase are alike, occurrences
# do not overlap.
# Why it matters: the library reproduces the scores of Lucene and Elasticsearch to try a ranking before it is built
# there; phrase scores of names and of titles that repeat a word differ from theirs.
# Source: searcharray/phrase: where all terms are the same, the length of each run of positions is divided.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check searcharray==0.0.73 numpy==2.3.4 pandas==3.0.6

expected='very very: [2, 1, 1, 0, 0]
long day:  [0, 0, 0, 0, 3]'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import logging

from searcharray import SearchArray

logging.disable(logging.CRITICAL)
texts = ["very very very very", "very very very", "very very", "very long", "long day long day long day"]
array = SearchArray.index(texts)
print("very very:", array.termfreqs(["very", "very"]).astype(int).tolist())
print("long day: ", array.termfreqs(["long", "day"]).astype(int).tolist())
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
