#!/usr/bin/env bash
# Guess: the topics of ArguAna are 1,406 different arguments, and a perfect retriever has a P@1 and an nDCG@10 of 1.
# Behaviour: of BEIR's topics for ArguAna (in the jar of Pyserini 0.21.0) 108 arguments are there twice, word for word,
# under two ids, and no two of them have the same judgements: each copy has one right answer, and it is another one.
# Whoever goes by the text of a topic has one list for both. The best lists have a P@1 of .923 and an nDCG@10 of .972.
# Why it matters: for one topic in seven the figure says which of two answers was put first, a matter of chance; tests
# of significance take 216 topics for independent that are 108; and where topics are split at random into training and
# test, texts are on both sides.
# Source: Anserini 0.21.0, topics-and-qrels/topics.beir-v1.0.0-arguana.test.tsv.gz and
# qrels.beir-v1.0.0-arguana.test.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numpy==2.4.6 pytrec-eval-terrier==0.5.11
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='topics: 1406, texts: 1298, texts with two topics: 108
of these with the same answers: 0
test-environment-assgbatj-pro02a: test-environment-assgbatj-pro02b
test-science-eassgbatj-pro02a: test-science-eassgbatj-pro02b
P_1 of the best lists that depend on the text: 0.923
ndcg_cut_10 of the best lists that depend on the text: 0.972'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import gzip
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytrec_eval

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))
packed = jar.read("topics-and-qrels/topics.beir-v1.0.0-arguana.test.tsv.gz")
topics = dict(line.split("\t", 1) for line in gzip.decompress(packed).decode().strip("\n").split("\n"))
with jar.open("topics-and-qrels/qrels.beir-v1.0.0-arguana.test.txt") as file:
    qrels = pytrec_eval.parse_qrel(line.decode() for line in file)

topics_of_text = defaultdict(list)
for topic, text in topics.items():
    topics_of_text[" ".join(text.lower().split())].append(topic)
repeated = [group for group in topics_of_text.values() if len(group) > 1]
same_answers = sum(len({frozenset(qrels[topic]) for topic in group}) == 1 for group in repeated)
print(f"topics: {len(topics)}, texts: {len(topics_of_text)}, texts with two topics: {len(repeated)}")
print(f"of these with the same answers: {same_answers}")
for topic in repeated[0]:
    print(f"{topic}: {', '.join(qrels[topic])}")

run = {}
for group in topics_of_text.values():
    answers = sorted({answer for topic in group for answer in qrels[topic]})
    for topic in group:
        run[topic] = {answer: -float(rank) for rank, answer in enumerate(answers)}
values = pytrec_eval.RelevanceEvaluator(qrels, {"P_1", "ndcg_cut_10"}).evaluate(run)
for measure in ("P_1", "ndcg_cut_10"):
    mean = sum(value[measure] for value in values.values()) / len(values)
    print(f"{measure} of the best lists that depend on the text: {mean:.3f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
