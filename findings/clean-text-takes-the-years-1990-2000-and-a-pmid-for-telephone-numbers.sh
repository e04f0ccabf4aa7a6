#!/usr/bin/env bash
# Guess: clean of clean-text with no_phone_numbers=True hides what is written like a telephone number, with a prefix
# or in its groups; no_punct=True removes marks and leaves the words and numbers beside them.
# Behaviour: clean-text 0.7.1 takes any two groups of four digits for a telephone number, and any eight digits: the
# years 1990-2000 and 1939-1945, pages 1200-1250 and a PMID are hidden, and the date 2024-05-01 is not.
# Without marks numbers run together: 3.5 is 35, a dose of 400-600 is 400600, 10:30 is 1030.
# Why it matters: it is run over collections for privacy and for words. Periods are what historical texts are searched
# for, and a passage without its marks states another dose.
# Source: clean-text, constants.py (PHONE_REGEX) and clean.py (remove_punct: marks are replaced by nothing).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    clean-text==0.7.1 emoji==2.16.0 ftfy==6.3.1

expected='call 555 123 4567: call <phone>; without marks call 555 123 4567
the years 1990-2000: the years <phone>; without marks the years 19902000
war of 1939-1945: war of <phone>; without marks war of 19391945
pages 1200-1250: pages <phone>; without marks pages 12001250
pmid 12345678: pmid <phone>; without marks pmid 12345678
on 2024-05-01: on 2024-05-01; without marks on 20240501
version 3.5: version 3.5; without marks version 35
take 400-600 mg at 10:30: take 400-600 mg at 10:30; without marks take 400600 mg at 1030'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from cleantext import clean

texts = (
    "call 555 123 4567",
    "the years 1990-2000",
    "war of 1939-1945",
    "pages 1200-1250",
    "pmid 12345678",
    "on 2024-05-01",
    "version 3.5",
    "take 400-600 mg at 10:30",
)
for text in texts:
    print(f"{text}: {clean(text, no_phone_numbers=True)}; without marks {clean(text, no_punct=True)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
