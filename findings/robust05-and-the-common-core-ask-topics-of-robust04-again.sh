#!/usr/bin/env bash
# Guess: Robust04, Robust05, and the Common Core Tracks of 2017 and 2018 are four test collections: other documents
# (parts of TREC's disks 4 and 5, AQUAINT, the New York Times, the Washington Post), and their own 50 topics.
# Behaviour: all 50 topics of Robust05 and of Core17 are among the 250 of Robust04, with the same numbers and titles,
# and 33 of them in both. Core18 has 25 of Robust04 and 25 new ones. The 50 topics of background linking of 2018 are the
# numbers of Core18, and all of its judged documents are judged there, for another question (data of Pyserini 0.21.0).
# Why it matters: a model that learned from Robust04 and is tested on the three as "unseen" has trained on the test
# queries. Judgements of another track are accepted for a run without an error.
# Source: Anserini 0.21.0, topics-and-qrels/topics.robust04.txt, topics.robust05.txt, topics.core17.txt,
# topics.core18.txt, and qrels.core18.txt, qrels.backgroundlinking18.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='robust05: 50 topics, 50 of robust04 by number and title
core17: 50 topics, 50 of robust04 by number and title
core18: 50 topics, 25 of robust04 by number and title
robust05 and core17: 33
backgroundlinking18: 8508 judged, in core18 8508, as there 4488'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import re
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))


def read(name):
    return jar.read(f"topics-and-qrels/{name}.txt").decode(errors="replace")


def read_titles(name):
    blocks = read(f"topics.{name}").split("<top>")[1:]
    found = (re.search(r"<num> Number:\s*(\d+).*?<title>\s*([^<\n]+?)\s*[<\n]", block, re.DOTALL) for block in blocks)
    return {match[1]: match[2] for match in found}


topics = {name: read_titles(name) for name in ("robust04", "robust05", "core17", "core18")}
for name in ("robust05", "core17", "core18"):
    shared = topics[name].items() & topics["robust04"].items()
    print(f"{name}: {len(topics[name])} topics, {len(shared)} of robust04 by number and title")
print(f"robust05 and core17: {len(topics['robust05'].items() & topics['core17'].items())}")
judged = {}
for name in ("core18", "backgroundlinking18"):
    rows = (line.split() for line in read(f"qrels.{name}").splitlines() if line.strip())
    judged[name] = {(topic, doc): int(grade) > 0 for topic, _, doc, grade in rows}
pairs = judged["backgroundlinking18"].keys() & judged["core18"].keys()
same = sum(judged["backgroundlinking18"][pair] == judged["core18"][pair] for pair in pairs)
print(f"backgroundlinking18: {len(judged['backgroundlinking18'])} judged, in core18 {len(pairs)}, as there {same}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
