#!/usr/bin/env bash
# Guess: snowballstemmer is the pure Python version of Snowball's stemmers: its version alone says which stems it has.
# Behaviour: snowballstemmer 2.2.0 hands its work to PyStemmer where that can be imported. Beside PyStemmer 3.1.0 its
# stemmer english has other stems (universiti, organiz) than alone (univers, organ), although it was not touched.
# Why it matters: installing bm25s, or whatever asks for PyStemmer, changes the stems of another program in the same
# environment, and so its vocabulary and its lists; pinning snowballstemmer does not hold them.
# Source: snowballstemmer, __init__.py (stemmer: that of PyStemmer if it was imported); NEWS of Snowball 3.0.0, English.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
pip=("$folder/venv/bin/pip" install -q --disable-pip-version-check)
cat > "$folder/stems.py" <<'EOF'
from importlib.metadata import version

import snowballstemmer

stems = snowballstemmer.stemmer("english").stemWords(["university", "organization", "international", "flows"])
print(f"snowballstemmer {version('snowballstemmer')}:", *stems)
EOF

expected='snowballstemmer 2.2.0: univers organ intern flow
snowballstemmer 2.2.0: universiti organiz internat flow'

"${pip[@]}" snowballstemmer==2.2.0
alone=$("$folder/venv/bin/python" "$folder/stems.py")
"${pip[@]}" PyStemmer==3.1.0
observed=$(echo "$alone"; "$folder/venv/bin/python" "$folder/stems.py")
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
