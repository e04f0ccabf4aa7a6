#!/usr/bin/env bash
# Guess: Robust04 and TREC-COVID in BEIR search what everybody searches of their topics: the title of Robust04, the
# query of TREC-COVID.
# Behaviour: BEIR's topics (in the jar of Pyserini 0.21.0) are the descriptions of Robust04 (all 249, word for word) and
# the questions of TREC-COVID (all 50); not one is a title or a query. They are more than five and three times as long.
# Why it matters: the BM25 of a table of BEIR and that of the papers on titles are of other topics, under the same names
# and, for Robust04, over the same judgements; a long question favours models that read sentences. Anserini searches
# titles for the one name (robust04) and descriptions for the other (beir-v1.0.0-robust04-test).
# Source: Anserini 0.21.0, topics-and-qrels/topics.beir-v1.0.0-robust04.test.tsv.gz, topics.robust04.txt,
# topics.beir-v1.0.0-trec-covid.test.tsv.gz and topics.covid-round5.xml.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='robust04: topics of BEIR: 249
  same as the title: 0, words of the title: 2.8
  same as the description: 249, words of the description: 15.6
trec-covid: topics of BEIR: 50
  same as the query: 0, words of the query: 3.5
  same as the question: 50, words of the question: 11.7'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import gzip
import re
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))


def words(text):
    return re.findall(r"\w+", text.lower())


def beir(name):
    text = gzip.decompress(jar.read(f"topics-and-qrels/topics.beir-v1.0.0-{name}.test.tsv.gz")).decode()
    return dict(line.split("\t", 1) for line in text.strip("\n").split("\n"))


robust = jar.read("topics-and-qrels/topics.robust04.txt").decode()
form = r"<num> Number: (\d+)\s+<title>(.+?)<desc>(?: Description:)?(.+?)<narr>"
robust = {topic: {"title": title, "description": text} for topic, title, text in re.findall(form, robust, re.DOTALL)}
covid = ElementTree.fromstring(jar.read("topics-and-qrels/topics.covid-round5.xml").decode())
covid = {topic.get("number"): {field: topic.findtext(field) for field in ("query", "question")} for topic in covid}

for name, track in (("robust04", robust), ("trec-covid", covid)):
    topics = beir(name)
    print(f"{name}: topics of BEIR: {len(topics)}")
    for field in next(iter(track.values())):
        same = sum(words(text) == words(track[topic][field]) for topic, text in topics.items())
        length = sum(len(words(track[topic][field])) for topic in topics) / len(topics)
        print(f"  same as the {field}: {same}, words of the {field}: {length:.1f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
