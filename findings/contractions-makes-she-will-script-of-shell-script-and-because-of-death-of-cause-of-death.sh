#!/usr/bin/env bash
# Guess: fix of contractions writes out what is contracted, with an apostrophe or in the known forms without one
# (dont, im); words of their own that look like one, such as well and hell, stay.
# Behaviour: contractions 0.1.73 leaves well, hell and ill and does write out shell, shed, cause and em: "shell
# script" is "she will script", "garden shed" is "garden she would", "cause of death" is "because of death", "em dash"
# is "them dash". The country U.S. is YOU.S. With slang=False none is changed, nor is dont.
# Why it matters: it is a usual step before an index or a model. Shell and cause are frequent in technical and medical
# texts; the words are gone from them, and she, will and because are stop words, so that nothing of it is left.
# Source: contractions, __init__.py (contractions and slang are also taken without their apostrophes; u is you).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    contractions==0.1.73 textsearch==0.0.24 anyascii==0.3.3 pyahocorasick==2.3.1

expected='dont stop: do not stop; without slang: dont stop
well water: well water; without slang: well water
shell script: she will script; without slang: shell script
garden shed: garden she would; without slang: garden shed
cause of death: because of death; without slang: cause of death
em dash: them dash; without slang: em dash
U.S. army: YOU.S. army; without slang: U.S. army'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from contractions import fix

queries = (
    "dont stop",
    "well water",
    "shell script",
    "garden shed",
    "cause of death",
    "em dash",
    "U.S. army",
)
for query in queries:
    print(f"{query}: {fix(query)}; without slang: {fix(query, slang=False)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
