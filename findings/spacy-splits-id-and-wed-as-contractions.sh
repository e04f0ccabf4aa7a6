#!/usr/bin/env bash
# Guess: spaCy's English tokenizer splits contractions at the apostrophe (don't, I'd), and leaves words without one
# whole.
# Behaviour: in spaCy 3.8.18 contractions written without an apostrophe are exceptions, too, and some are words of
# their own: `id` is i and d, `wed` is we and d, `cant` ca and nt. `ID` in capitals stays whole, `Id` does not. Of names
# with a mark, C++ is a word, and C# is two.
# Why it matters: a BM25 index whose words are spaCy's tokens in lower case has no `id` of texts that write it so: the
# query "user id" is answered by texts with an i and a d, and does not meet documents that write "user ID".
# Source: spaCy, lang/en/tokenizer_exceptions.py (each contraction also without its apostrophe; "ill", "were" and others
# are taken out by name).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check spacy==3.8.18

expected='user id: user i d
user ID: user ID
user Id: user I d
to wed: to we d
ill: ill
cant: ca nt
C++ and C#: C++ and C #'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import spacy

tokenize = spacy.blank("en")
for text in ("user id", "user ID", "user Id", "to wed", "ill", "cant", "C++ and C#"):
    print(f"{text}:", *(token.text for token in tokenize(text)))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
