#!/usr/bin/env bash
# Guess: a segmenter of joined words that is given a text with other characters leaves these as they are or to the
# word around them: what comes out has all letters of what went in.
# Behaviour: wordninja 2.0.0 cuts at each character that is no Latin letter without a mark, digit or apostrophe, and
# drops it: Zürich is Z and rich, café is caf, C++ is C, and Moscow in Cyrillic letters is nothing. wordsegment 1.3.1
# drops such characters first and parts what is left, across what stood between: 3.5 is 35 and naïve nave.
# Why it matters: they are used on hashtags, host names and queries alike. A hotel in Zürich is searched as rich, a
# version 3.5 as 35, and a query in another script as nothing.
# Source: wordninja.py (a pattern of characters that split) and wordsegment.py (clean: letters of the English alphabet
# and digits).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    wordninja==2.0.0 wordsegment==1.3.1

expected='lungcancer: wordninja lung cancer; wordsegment lung cancer
Zürich hotels: wordninja Z rich hotels; wordsegment z rich hotels
café: wordninja caf; wordsegment caf
naïve bayes: wordninja na ve bayes; wordsegment nave bayes
python 3.5: wordninja python 3 5; wordsegment python 35
C++: wordninja C; wordsegment c
Москва: wordninja nothing; wordsegment nothing'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import wordninja
import wordsegment

wordsegment.load()
for text in ("lungcancer", "Zürich hotels", "café", "naïve bayes", "python 3.5", "C++", "Москва"):
    first, second = wordninja.split(text), wordsegment.segment(text)
    print(f"{text}: wordninja {' '.join(first) or 'nothing'}; wordsegment {' '.join(second) or 'nothing'}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
