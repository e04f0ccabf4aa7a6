#!/usr/bin/env bash
# Guess: KeywordProcessor finds whole words: the keyword IT is not in a longer word, whatever the language, and C is not
# in C#.
# Behaviour: flashtext 2.7 takes ASCII letters, digits and the underscore alone for parts of words. An accented letter
# ends a word: IT is found in Itália, uni in união, ni in niño, and in Cyrillic, where no letter is one of a word, the
# name of Rome in the word for example. The name C is found in C# and C++ unless these are keywords too.
# replace_keywords changes the inside of the words.
# Why it matters: entities, skills and places that are tagged in Portuguese, Spanish, French or German are those of
# fragments, in Greek and Russian those of any part of a word; the cleaning of texts with it makes words that are none.
# Source: flashtext, keyword.py (non_word_boundaries: digits, letters of ASCII and _).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check flashtext==2.7

expected='Itália: IT
italia: none
união: uni
niño: ni
C#: C
пример: Рим
the IT team: IT
replaced: I.T.ália
with the letters of the language, Itália: none'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from flashtext import KeywordProcessor

names = ("IT", "uni", "ni", "C", "Рим")
processor = KeywordProcessor()
for name in names:
    processor.add_keyword(name)


def show(text):
    print(f"{text}:", " ".join(processor.extract_keywords(text)) or "none")


for text in ("Itália", "italia", "união", "niño", "C#", "пример", "the IT team"):
    show(text)
replacer = KeywordProcessor()
replacer.add_keyword("IT", "I.T.")
print("replaced:", replacer.replace_keywords("Itália"))
processor.set_non_word_boundaries(processor.non_word_boundaries | {"á", "Á"})
print("with the letters of the language, Itália:", " ".join(processor.extract_keywords("Itália")) or "none")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
