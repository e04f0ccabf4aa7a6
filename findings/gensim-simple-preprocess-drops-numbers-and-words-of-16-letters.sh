#!/usr/bin/env bash
# Guess: gensim's simple_preprocess lowers a text and splits it into words.
# Behaviour: in gensim 4.4.0 it also drops every number, splits words at their digits, and drops what has less than 2
# or more than 15 letters then. "Boeing 747" and "Boeing 707" are one text, H2O is none, and electroencephalography is
# none.
# Why it matters: most recipes for BM25 or TF-IDF with gensim begin with it. Queries for a model, a year or a compound
# lose the word that tells documents apart, without a sign of it, and documents that differ in it tie.
# Source: gensim, utils.py (simple_preprocess: min_len=2, max_len=15; PAT_ALPHABETIC, letters that are no digits).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    gensim==4.4.0 numpy==1.26.4 scipy==1.12.0

expected='Boeing 747: boeing
Boeing 707: boeing
vitamin D in 2021: vitamin in
H2O and B2B: and
electroencephalography of sleep: of sleep
fifteen letters: crystallography: fifteen letters crystallography
sixteen letters: electromagnetism: sixteen letters'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from gensim.utils import simple_preprocess

for text in (
    "Boeing 747",
    "Boeing 707",
    "vitamin D in 2021",
    "H2O and B2B",
    "electroencephalography of sleep",
    "fifteen letters: crystallography",
    "sixteen letters: electromagnetism",
):
    print(f"{text}: {' '.join(simple_preprocess(text)) or 'nothing'}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
