#!/usr/bin/env bash
# Guess: search_dates of dateparser finds the dates of a query, where it has any, and nothing in a query without.
# Behaviour: dateparser 1.5.0 chooses a language by the words that it can read as dates, among all that it knows: me is
# a Wednesday, to a Thursday, do a Sunday and mars March; iphone 12 pro is the twelfth of December. With
# languages=["en"] these go, but every word that is a day or month in English is one: sat score, the sun also rises, may
# i have, and march of the penguins, dec, jan and now; 24 hours of le mans is yesterday. A year alone is the day of
# today in that year, so that "best laptops 2020" does not begin in January.
# Why it matters: what is found becomes a filter by date or is cut out of the query, for one in a few queries without
# any date; the list of answers is then of one day, or without the name that was asked for.
# Source: dateparser, documentation of search_dates (languages), PREFER_DAY_OF_MONTH and STRICT_PARSING.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    dateparser==1.5.0 python-dateutil==4.0.0 pytz==2026.6 regex==2026.11.19 tzlocal==5.4.5

expected='best pizza near me: me 2024-05-15; English: none
cheap flights to paris: to 2024-05-09; English: none
how do i fix my car: do 2024-05-12; English: none
mars rover: mars 2024-03-15; English: none
iphone 12 pro: 12 pro 2024-12-12; English: none
sat score needed: sat 2024-05-11; English: sat 2024-05-11
may i have: may 2024-05-15; English: may 2024-05-15
march of the penguins: march of the 2024-03-15; English: march of the 2024-03-15
24 hours of le mans: 24 hours of 2024-05-14; English: 24 hours of 2024-05-14
best laptops 2020: 2020 2020-05-15; English: 2020 2020-05-15
windows 10 update: none; English: none'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from datetime import datetime

from dateparser.search import search_dates

queries = (
    "best pizza near me",
    "cheap flights to paris",
    "how do i fix my car",
    "mars rover",
    "iphone 12 pro",
    "sat score needed",
    "may i have",
    "march of the penguins",
    "24 hours of le mans",
    "best laptops 2020",
    "windows 10 update",
)
settings = {"RELATIVE_BASE": datetime(2024, 5, 15)}
for query in queries:
    found = [search_dates(query, languages=languages, settings=settings) for languages in (None, ["en"])]
    dates = [", ".join(f"{text} {date:%Y-%m-%d}" for text, date in pairs or []) or "none" for pairs in found]
    print(f"{query}: {dates[0]}; English: {dates[1]}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
