#!/usr/bin/env bash
# Guess: `parse(word)[0].normal_form` of pymorphy3 is the lemma of the word, so that all forms of a word have one.
# Behaviour: in pymorphy3 2.0.6 with its dictionary of Russian the first of the parses, which are sorted by a score, is
# often another word than that of the next form: данные (data) is дать (to give) where данных and данным are данные;
# большой (large) is большой and большая, большие, больших are больший (larger); часы (clock) is часы and часов is час
# (hour); суда is суд (court) where судов is судно (ship). ИИ (artificial intelligence) is ия, and ВОЗ (the World Health
# Organisation) воз (cart), since capitals have no effect. Scores of the first two parses are equal for данные, большие.
# Why it matters: this line is the usual lemmatiser of Russian search. A query for "большие данные" (big data) is one
# for "give" and "larger": it does not find данных, but every text with a form of дать.
# Source: pymorphy3, analyzer.py (parse sorts by score, which is P(tag | word), or the same for all).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pymorphy3==2.0.6 pymorphy3-dicts-ru==2.4.417150.4580142 DAWG2-Python==0.9.0

expected='данные данных данным: дать данные данные
большой большая большие больших: большой больший больший больший
часы часов: часы час
суд суда судов: суд суд судно
ИИ: ия
ВОЗ воз: воз воз
дом дома домов: дом дом дом
данные: дать 0.167, дать 0.167, данные 0.167
большие: больший 0.400, большой 0.400, больший 0.200'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from pymorphy3 import MorphAnalyzer

analyzer = MorphAnalyzer()
texts = ("данные данных данным", "большой большая большие больших", "часы часов", "суд суда судов", "ИИ", "ВОЗ воз",
         "дом дома домов")
for text in texts:
    print(f"{text}: {' '.join(analyzer.parse(word)[0].normal_form for word in text.split())}")
for word in ("данные", "большие"):
    first, second, third = analyzer.parse(word)[:3]
    scores = ", ".join(f"{parse.normal_form} {parse.score:.3f}" for parse in (first, second, third))
    print(f"{word}: {scores}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
