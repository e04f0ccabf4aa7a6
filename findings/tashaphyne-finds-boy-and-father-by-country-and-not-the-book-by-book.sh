#!/usr/bin/env bash
# Guess: the light stemmer of Tashaphyne, the Arabic stemmer of PyPI, takes articles, prefixes and endings from a word:
# book and the book have one stem, bank and banks are at worst apart, and boy, father and country are three words.
# Behaviour: Tashaphyne 0.3.6 without a list of stems takes the longest prefix that its automaton knows, of which b
# (by), k (as), w (and), l (for), f and y are, whether a word is left or not. Boy, father and country are one stem
# (ld); book loses its k, and the book keeps it, so the one does not find the other; so with the minister, whose word
# begins with w. Lebanon and Palestine lose half of their letters.
# Why it matters: many words begin with one of these letters as a part of their stem; texts that have the word with the
# article are not found by its dictionary form, and words that have nothing in common find each other.
# Source: Tashaphyne, stemming.py (light_stem, get_stem: left and right by the longest affix), its README (light stem).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    tashaphyne==0.3.6 pyarabic==0.6.15

expected='school, the school: 1 stems of 2 words: مدرس مدرس
boy, father, country: 1 stems of 3 words: لد لد لد
book, the book: 2 stems of 2 words: تاب كتاب
minister, the minister: 2 stems of 2 words: زير وزير
bank, the bank, banks: 3 stems of 3 words: نك بنك نو
dog, the dog: 2 stems of 2 words: لب كلب
Lebanon, Palestine, Iraq: 3 stems of 3 words: بنا سط عراق'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from tashaphyne.stemming import ArabicLightStemmer

pairs = {
    "school, the school": "مدرسة المدرسة",
    "boy, father, country": "ولد والد بلد",
    "book, the book": "كتاب الكتاب",
    "minister, the minister": "وزير الوزير",
    "bank, the bank, banks": "بنك البنك بنوك",
    "dog, the dog": "كلب الكلب",
    "Lebanon, Palestine, Iraq": "لبنان فلسطين العراق",
}
stemmer = ArabicLightStemmer()
for name, words in pairs.items():
    stems = []
    for word in words.split():
        stemmer.light_stem(word)
        stems.append(stemmer.get_stem())
    print(f"{name}: {len(set(stems))} stems of {len(stems)} words:", *stems)
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
