#!/usr/bin/env bash
# Guess: `getLemma(word, upos="PROPN")` of lemminflect, which its extension of spaCy calls for a name, leaves names and
# abbreviations as they are, since a name has no other form.
# Behaviour: in lemminflect 0.2.3 a final s is taken for a plural from names that are in no dictionary, and from those
# that look like a word, whatever their case: AIDS is AID, SARS is SAR, Windows is Window, Jobs is Job and iOS is io;
# Paris and Williams are left alone as PROPN, and are Pari and William where a tagger takes them for a NOUN.
# Why it matters: it is used for queries and documents by their tags. A query for AIDS finds AID, aid and hearing aids,
# iOS finds io, and Paris does not find Paris where a tagger has seen it otherwise in a short query.
# Source: lemminflect, core/Lemmatizer.py (getLemma: PROPN is looked up as NOUN, then rules for unknown words).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lemminflect==0.2.3 numpy==2.4.6

expected='PROPN: AIDS AID, SARS SAR, Windows Window, Jobs Job, iOS io, Paris Paris, Williams Williams, Gates Gates
NOUN: AIDS AID, SARS SAR, Windows Window, Jobs Job, iOS io, Paris Pari, Williams William, Gates Gate'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from lemminflect import getLemma

words = "AIDS SARS Windows Jobs iOS Paris Williams Gates".split()
for tag in ("PROPN", "NOUN"):
    print(f"{tag}: {', '.join(f'{word} {getLemma(word, upos=tag)[0]}' for word in words)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
