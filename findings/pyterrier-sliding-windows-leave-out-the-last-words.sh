#!/usr/bin/env bash
# Guess: `pt.text.sliding` cuts a document into windows that hold every word, the last one shorter.
# Behaviour: only whole windows are made (PyTerrier 1.1.2): of seven words, with a window of 4 and a stride of 2, the
# last word is in none; with windows side by side up to length - 1 words are lost. A text that is shorter than a
# window is kept.
# Why it matters: passages are what the reranker and the encoder read: conclusions, references, and the answer in a
# last sentence cannot be found, and figures change with the length of the window.
# Source: pyterrier/text.py, SlidingWindowPassager.applyPassaging.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyterrier==1.1.2

expected='window 4, stride 2: 1 2 3 4 | 3 4 5 6
window 4, stride 4: 1 2 3 4
a shorter text:     1 2 3'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import logging
import pandas as pd
import pyterrier as pt

logging.disable(logging.CRITICAL)


def windows(text, length, stride):
    frame = pd.DataFrame({"docno": ["d"], "body": [text]})
    return pt.text.sliding(length=length, stride=stride, prepend_attr=None)(frame)["body"].str.cat(sep=" | ")


print("window 4, stride 2:", windows("1 2 3 4 5 6 7", 4, 2))
print("window 4, stride 4:", windows("1 2 3 4 5 6 7", 4, 4))
print("a shorter text:    ", windows("1 2 3", 4, 4))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
