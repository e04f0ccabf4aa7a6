#!/usr/bin/env bash
# Guess: parse of number-parser, as in its documentation with the text alone, turns the numbers of an English query
# into digits: "nineteen eighty four" into 1984. Queries without a number stay as they are.
# Behaviour: number-parser 0.3.2 takes the language whose number words a text has the most of. "once upon a time" is
# Spanish for eleven, "ms dos" and "mil spec" for two and a thousand. With language="en" these stay. Years that are
# spoken in pairs are two numbers in either case, "19 84", and seconds and halves join: "forty second timer" is "42
# timer".
# Why it matters: queries are searched for 11, 2 and 1000, with no error and mostly where they hold no number at all.
# Of a year, which is what numbers are normalised for, neither half is in the index.
# Source: number-parser, parser.py (_valid_tokens_by_language: the language of most tokens; _is_ordinal_token); its
# README calls parse without a language for English texts.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    number-parser==0.3.2 attrs==26.1.0

expected='world war two: world war 2, with language en: world war 2
once upon a time: 11 upon a time, with language en: once upon a time
ms dos: ms 2, with language en: ms dos
mil spec: 1000 spec, with language en: mil spec
nineteen eighty four: 19 84, with language en: 19 84
twenty twenty four election: 20 24 election, with language en: 20 24 election
forty second timer: 42 timer, with language en: 42 timer'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from number_parser import parse

queries = (
    "world war two",
    "once upon a time",
    "ms dos",
    "mil spec",
    "nineteen eighty four",
    "twenty twenty four election",
    "forty second timer",
)
for query in queries:
    print(f"{query}: {parse(query)}, with language en: {parse(query, language='en')}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
