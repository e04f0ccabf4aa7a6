#!/usr/bin/env bash
# Guess: GeoText finds the cities and countries that a query or a title names, in any case of letters, and ordinary
# words are not among them.
# Behaviour: geotext 0.4.0 looks up words that begin with a capital in a list of all towns, and capitals side by side
# as one name. "hotels in new york" has no city, as queries are typed, and "Paris Weather" none; University, Best,
# Orange, Mobile, Reading and Split are cities where they stand with a capital, as at the start of a sentence.
# Why it matters: a filter or a feature by place does nothing for the queries of a search box nor for titles in
# capitals, and puts the University of Oxford and a text that begins with Reading in places where they are not.
# Source: geotext, geotext.py (the regular expression of candidates begins with a capital; the index of GeoNames).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    geotext==0.4.0

expected='geotext 0.4.0
Hotels in New York and Paris: cities New York, Paris; countries none
hotels in new york and paris: cities none; countries none
University of Oxford: cities University, Oxford; countries none
Best of 2019: cities Best; countries none
Mobile phones: cities Mobile; countries none
Paris weather: cities Paris; countries none
Paris Weather: cities none; countries none
Restaurants Of Paris Today: cities none; countries none
Orange juice is good for you: cities Orange; countries none
Reading a book: cities Reading; countries none
Split the bill: cities Split; countries none
weather in france: cities none; countries none
Weather in France: cities none; countries France'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

from geotext import GeoText

print(f"geotext {version('geotext')}")
texts = ["Hotels in New York and Paris", "hotels in new york and paris", "University of Oxford", "Best of 2019"]
texts += ["Mobile phones", "Paris weather", "Paris Weather", "Restaurants Of Paris Today"]
texts += ["Orange juice is good for you", "Reading a book", "Split the bill", "weather in france", "Weather in France"]
for text in texts:
    found = GeoText(text)
    print(f"{text}: cities {', '.join(found.cities) or 'none'}; countries {', '.join(found.countries) or 'none'}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
