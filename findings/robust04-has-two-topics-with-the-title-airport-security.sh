#!/usr/bin/env bash
# Guess: the 250 topics of Robust04 ask 250 things: no two topics have the same title.
# Behaviour: topics 341 and 412 (in the jar of Pyserini 0.21.0) both have the title "Airport Security", and are judged
# apart, by what their descriptions say. A run of titles has one list for two sets of relevant documents, of 78 and 123,
# which have 47 in common; 73 of 454 documents that are judged for both are relevant for one and not for the other.
# Why it matters: no model of titles can be right for both; pairs for training that are made of titles contradict each
# other; a cache or a dictionary by the text of a query mixes the two up; and folds of topics, which are by number, can
# have the one in training and the other in test.
# Source: Anserini 0.21.0, topics-and-qrels/topics.robust04.txt and qrels.robust04.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numpy==2.4.6 pytrec-eval-terrier==0.5.11
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='topics: 250, titles: 249, with one title: 341 Airport Security 412 airport security
relevant: 78 123 both: 47
judged for both: 454, relevant for one and not relevant for the other: 73'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import re
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytrec_eval

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))
text = jar.read("topics-and-qrels/topics.robust04.txt").decode()
topics = dict(re.findall(r"<num> Number: (\d+)\s+<title>\s*(.+?)\s*\n", text))
with jar.open("topics-and-qrels/qrels.robust04.txt") as file:
    qrels = pytrec_eval.parse_qrel(line.decode() for line in file)

titles = [title.lower() for title in topics.values()]
twins = [topic for topic, title in topics.items() if titles.count(title.lower()) > 1]
print(f"topics: {len(topics)}, titles: {len(set(titles))}, with one title:", *(f"{t} {topics[t]}" for t in twins))

one, other = (qrels[topic] for topic in twins)
both = one.keys() & other.keys()
differ = [document for document in both if (one[document] > 0) != (other[document] > 0)]
relevant = [{document for document, grade in judged.items() if grade > 0} for judged in (one, other)]
print("relevant:", *map(len, relevant), "both:", len(set.intersection(*relevant)))
print(f"judged for both: {len(both)}, relevant for one and not relevant for the other: {len(differ)}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
