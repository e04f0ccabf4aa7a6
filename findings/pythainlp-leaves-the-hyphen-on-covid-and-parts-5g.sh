#!/usr/bin/env bash
# Guess: a word in Latin letters and digits in a Thai text is one token of PyThaiNLP's `word_tokenize`, or is cut at its
# hyphen: COVID-19 is COVID-19, or COVID, - and 19.
# Behaviour: in pythainlp 5.4.0 (newmm, the default) COVID-19 is "COVID-" and "19", so that the word is another one than
# in COVID and in COVID 19; SARS-CoV-2 is "SARS-CoV-" and "2". 5G is 5 and G, and M1 is M and 1, but Wi-Fi and 1,500.50
# are one token each. An address is cut before each mark: "/B", "@mail.com", ".S.A.".
# Why it matters: names with a digit are frequent in Thai news and questions, and a query for COVID finds no text that
# writes COVID-19, while one for 5 finds those about 5G.
# Source: PyThaiNLP, tokenize/newmm.py (_PAT_NONTHAI: [-a-zA-Z]+, then numbers, then all up to a space).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pythainlp==5.4.0

expected='วัคซีน COVID-19: วัคซีน | COVID- | 19
วัคซีน COVID 19: วัคซีน | COVID | 19
ไวรัส SARS-CoV-2: ไวรัส | SARS-CoV- | 2
เครือข่าย 5G: เครือข่าย | 5 | G
ราคา 1,500.50 Wi-Fi: ราคา | 1,500.50 | Wi-Fi
ส่ง user@mail.com: ส่ง | user | @mail.com'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from pythainlp import word_tokenize

texts = ("วัคซีน COVID-19", "วัคซีน COVID 19", "ไวรัส SARS-CoV-2", "เครือข่าย 5G", "ราคา 1,500.50 Wi-Fi",
         "ส่ง user@mail.com")
for text in texts:
    print(f"{text}: {' | '.join(word_tokenize(text, keep_whitespace=False))}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
