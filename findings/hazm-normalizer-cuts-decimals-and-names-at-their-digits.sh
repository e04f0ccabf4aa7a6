#!/usr/bin/env bash
# Guess: hazm's Normalizer, which its documentation puts before the tokeniser, makes Persian digits and spacing uniform;
# a decimal number or a name with a digit stays one word.
# Behaviour: in hazm 0.10.0 a space is put around the decimal point and between letters and digits: 3.5 becomes ۳ ٫ ۵,
# of which word_tokenize makes three tokens, where it makes one of 3.5 without the Normalizer. The digits are Persian
# ones afterwards, in Latin names too: COVID-19 is COVID- and ۱۹, and MP3 is MP and ۳, which a query for 19 or MP3 that
# was not normalised does not match.
# Why it matters: prices, doses and versions are found by each of their digits and not as a number, and a word in Latin
# letters with a hyphen before its number is another word than alone.
# Source: hazm, normalizer.py (the patterns of correct_spacing, persian_style and persian_numbers, True by default).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    hazm==0.10.0 nltk==3.10.4 numpy==1.24.3 scipy==1.15.3 scikit-learn==1.7.2 gensim==4.4.0 fasttext-wheel==0.9.2 \
    python-crfsuite==0.9.12 flashtext==2.7 pybind11==3.1.0 regex==2026.11.19

expected='نرخ 3.5 درصد: normalised نرخ|۳|٫|۵|درصد, as it is نرخ|3.5|درصد
نسخه 2.0: normalised نسخه|۲|٫|۰, as it is نسخه|2.0
COVID-19: normalised COVID-|۱۹, as it is COVID-|19
COVID: normalised COVID, as it is COVID
MP3: normalised MP|۳, as it is MP|3
10:30: normalised ۱۰:۳۰, as it is 10:30'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from hazm import Normalizer, word_tokenize

normalizer = Normalizer()
for text in ("نرخ 3.5 درصد", "نسخه 2.0", "COVID-19", "COVID", "MP3", "10:30"):
    normalised, as_it_is = ("|".join(word_tokenize(given)) for given in (normalizer.normalize(text), text))
    print(f"{text}: normalised {normalised}, as it is {as_it_is}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
