#!/usr/bin/env bash
# Guess: folding to ASCII loses accents, not quantities: 5 µg stays apart from 5 mg, and the order of Unicode
# normalisation and folding does not matter.
# Behaviour: Unidecode 1.4.0 and anyascii 0.3.3 write the micro sign (U+00B5) as u and the Greek letter mu (U+03BC), as
# which keyboards and NFKC write the same unit, as m: 5 µg is "5 ug" or "5 mg", and 3 µm "3 um" or "3 mm". NFKC before
# the folding, which is customary, makes milligrams of all. 10⁵ is "105", and 2½ is "21/2" with anyascii.
# Why it matters: doses and lengths are found for a thousand times as much, texts that differ in a unit alone are taken
# for duplicates, and whether it happens depends on which of two equal signs the author has typed.
# Source: Unidecode, x003.py (0xbc) and x000.py (0xb5); Unicode, UnicodeData.txt (00B5 <compat> 03BC).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    Unidecode==1.4.0 anyascii==0.3.3

expected='5 µg (U+00B5): unidecode 5 ug, anyascii 5 ug; after NFKC 5 mg, 5 mg
5 μg (U+03BC): unidecode 5 mg, anyascii 5 mg; after NFKC 5 mg, 5 mg
3 µm (U+00B5): unidecode 3 um, anyascii 3 um; after NFKC 3 mm, 3 mm
10⁵: unidecode 105, anyascii 105; after NFKC 105, 105
2½: unidecode 2 1/2, anyascii 21/2; after NFKC 21/2, 21/2'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import unicodedata

from anyascii import anyascii
from unidecode import unidecode

for text in ("5 \u00b5g", "5 \u03bcg", "3 \u00b5m", "10\u2075", "2\u00bd"):
    normal = unicodedata.normalize("NFKC", text)
    sign = "".join(f" (U+{ord(letter):04X})" for letter in text if letter in "\u00b5\u03bc")
    print(f"{text}{sign}: unidecode {unidecode(text)}, anyascii {anyascii(text)}; "
          f"after NFKC {unidecode(normal)}, {anyascii(normal)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
