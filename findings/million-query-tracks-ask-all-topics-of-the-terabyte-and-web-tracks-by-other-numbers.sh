#!/usr/bin/env bash
# Guess: the queries of the Million Query Tracks of 2007 to 2009, whose judgements became MQ2007 and MQ2008 of LETOR,
# are taken from a log; the 150 topics of the Terabyte Tracks on the same collection are others, as are those of the Web
# Track, and the queries of one year are not those of another.
# Behaviour: all 150 titles of the Terabyte Tracks are among the 10,000 queries of 2007, 54 of them among those of 2008
# as well, and all of the Web Track of 2009 among those of 2009, each by another number. 56 of the 150 are among the
# queries that were judged in 2007, and all 50 of the Web Track among those of 2009. 260 queries of 2007 came back in
# 2008, none of them judged in both (data of Pyserini 0.21.0).
# Why it matters: a model that is trained on MQ2007 and tested on the topics of GOV2 has seen more than a third of their
# queries with documents of theirs. A check for overlap by the numbers finds none.
# Source: Anserini 0.21.0, topics-and-qrels/topics.mq.*.txt, topics.terabyte*.txt and topics.web.1-50.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='Terabyte: 150 topics, among the queries of 2007 150 (judged 56), 2008 54 (judged 0), 2009 1 (judged 0)
Web 2009: 50 topics, among the queries of 2007 0 (judged 0), 2008 0 (judged 0), 2009 50 (judged 50)
in 2007 and 2008: 260 queries, judged in both 0'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import re
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))


def read(name):
    return jar.read(f"topics-and-qrels/{name}.txt").decode(errors="replace")


def normalise(text):
    return " ".join(text.lower().split())


def find_texts(name):
    found = re.findall(r"<(?:title|query)>\s*([^<]*?)\s*</?(?:query|title|desc)", read(name))
    return {normalise(text) for text in found}


queries, judged = {}, {}
for year, numbers in ((2007, "1-10000"), (2008, "10001-20000"), (2009, "20001-60000")):
    lines = (line.split(":", 1) for line in read(f"topics.mq.{numbers}").splitlines())
    with_judgements = {line.split()[0] for line in read(f"prels.mq.{numbers}").splitlines() if line.strip()}
    texts = {number: normalise(re.sub(r"^\d:", "", text)) for number, text in lines}
    queries[year] = set(texts.values())
    judged[year] = {text for number, text in texts.items() if number in with_judgements}
tracks = {"Terabyte": ("terabyte04.701-750", "terabyte05.751-800", "terabyte06.801-850"), "Web 2009": ("web.1-50",)}
for track, names in tracks.items():
    texts = set().union(*(find_texts(f"topics.{name}") for name in names))
    shared = ", ".join(f"{year} {len(texts & queries[year])} (judged {len(texts & judged[year])})" for year in queries)
    print(f"{track}: {len(texts)} topics, among the queries of {shared}")
both = queries[2007] & queries[2008]
print(f"in 2007 and 2008: {len(both)} queries, judged in both {len(judged[2007] & judged[2008])}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
