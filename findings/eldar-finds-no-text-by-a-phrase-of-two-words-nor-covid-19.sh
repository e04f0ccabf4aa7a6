#!/usr/bin/env bash
# Guess: a query of eldar whose terms stand in quotation marks, as in its examples, finds the texts that contain what
# is quoted: "new york" those with New York.
# Behaviour: in eldar 0.0.8 the text is cut into words and a quoted term must be one of them. "new york", "covid-19",
# "c++" and "3.5" are in no text, and are true behind AND NOT, whatever the text. With match_word=False they are
# found, and so is art in party. In an Index it is the other way round: the phrase is found and "york" in quotation
# marks is not, nor is a phrase in an AND.
# Why it matters: Boolean queries of reviews and of monitoring are made of phrases. The list is empty for those and
# full for the others, and exclusions by a phrase exclude nothing.
# Source: eldar, query.py (a text becomes a set of words, in which the quoted term is looked up) and index.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    eldar==0.0.8 Unidecode==1.4.0

expected='"york" in hotels in new york: True, without match_word True
"new york" in hotels in new york: False, without match_word True
"lung cancer" AND "therapy" in lung cancer therapy: False, without match_word True
"cancer" AND NOT "breast cancer" in breast cancer therapy: True, without match_word False
"covid-19" in a covid-19 case: False, without match_word True
"c++" in code in c++: False, without match_word True
"art" in modern party: False, without match_word True
index, york: hotels in new york / york has a hotel
index, "york": none
index, "new york": hotels in new york
index, "lung cancer": lung cancer therapy
index, "lung cancer" AND "therapy": none'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from eldar import Index, Query

for query, text in (
    ('"york"', "hotels in new york"),
    ('"new york"', "hotels in new york"),
    ('"lung cancer" AND "therapy"', "lung cancer therapy"),
    ('"cancer" AND NOT "breast cancer"', "breast cancer therapy"),
    ('"covid-19"', "a covid-19 case"),
    ('"c++"', "code in c++"),
    ('"art"', "modern party"),
):
    print(f"{query} in {text}: {Query(query)(text)}, without match_word {Query(query, match_word=False)(text)}")
texts = ["hotels in new york", "york has a hotel", "lung cancer therapy"]
index = Index(ignore_case=True, ignore_accent=True)
index.build(texts, verbose=False)
for query in ("york", '"york"', '"new york"', '"lung cancer"', '"lung cancer" AND "therapy"'):
    print(f"index, {query}: {' / '.join(index.search(query)) or 'none'}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
