#!/usr/bin/env bash
# Guess: the recognisers of numbers with units and of dates of recognizers-text take "in" for inches and "mon" for
# Monday where the words around say so, as it finds no number in "second hand car" and no day in "sun tzu".
# Behaviour: recognizers-text-suite 1.0.2a2 finds 2 inches in "2 in 1 laptop", 5 grams in "5g phone", a Monday in "mon
# ami", a month in "march madness" and in "may the force be with you", a Friday night in "friday night lights", a
# duration of a day in "a day in the life". "nineteen eighty four" has two numbers, 19 and 84, and no year.
# Why it matters: entities of queries become filters of size, weight and date. These are names of products, songs and
# films, the most frequent queries there are.
# Source: recognizers-text, resources of English units (in for Inch, g for Gram) and dates; its documentation shows
# sentences.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    recognizers-text-suite==1.0.2a2 emoji==1.7.0 grapheme==0.6.0 regex==2024.11.6 multipledispatch==1.0.0 \
    datedelta==1.4

expected='second hand car: nothing
sun tzu: nothing
2 in 1 laptop: 2 Inch
5g phone: 5 Gram
mon ami: mon as date
march madness: march as daterange
may the force be with you: may as daterange
friday night lights: friday night as datetimerange
a day in the life: a day as duration
nineteen eighty four: number 19, number 84'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from recognizers_suite import Culture, recognize_datetime, recognize_dimension, recognize_number

queries = (
    "second hand car",
    "sun tzu",
    "2 in 1 laptop",
    "5g phone",
    "mon ami",
    "march madness",
    "may the force be with you",
    "friday night lights",
    "a day in the life",
    "nineteen eighty four",
)
for query in queries:
    sizes = [item.resolution for item in recognize_dimension(query, Culture.English)]
    found = [f"{size['value']} {size['unit']}" for size in sizes]
    found += [f"{item.text} as {item.type_name.split('.')[1]}" for item in recognize_datetime(query, Culture.English)]
    found += [f"number {item.resolution['value']}" for item in recognize_number(query, Culture.English)]
    print(f"{query}: {', '.join(found) or 'nothing'}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
