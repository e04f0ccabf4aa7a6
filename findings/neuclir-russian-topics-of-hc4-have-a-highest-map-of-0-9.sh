#!/usr/bin/env bash
# Guess: each topic of a published test collection has a relevant document, and a perfect run has a MAP of 1.
# Behaviour: HC4's 50 test topics over the documents of NeuCLIR 2022 have qrels of their own in Anserini (in the jar of
# Pyserini 0.21.0), with what is left of HC4's judgements. In Russian that is 625 of 2,970, and 142 of 673 relevant
# ones, and five topics have judged documents of which none is relevant; in Persian 2,041 of 2,522, and none is without.
# trec_eval counts the five as 0 in its means, and a perfect run has a MAP of .9.
# Why it matters: .9 is all that there is, so two languages of one table have other ceilings, and a topic has three
# relevant documents where HC4 has thirteen. A tool that leaves topics without relevant documents out gives the same run
# a ninth more than trec_eval.
# Source: Anserini 0.21.0, topics-and-qrels/qrels.hc4-neuclir22-ru.test.txt and qrels.hc4-v1.0-ru.test.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==2.4.6 pytrec-eval-terrier==0.5.11
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='hc4-v1.0-fa: topics: 50, judgements: 2522, relevant: 421
  topics without relevant documents: 0, map of a perfect run: 1.000
hc4-neuclir22-fa: topics: 50, judgements: 2041, relevant: 327
  topics without relevant documents: 0, map of a perfect run: 1.000
hc4-v1.0-ru: topics: 50, judgements: 2970, relevant: 673
  topics without relevant documents: 0, map of a perfect run: 1.000
hc4-neuclir22-ru: topics: 50, judgements: 625, relevant: 142
  topics without relevant documents: 5, map of a perfect run: 0.900'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytrec_eval

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))

for name in ("hc4-v1.0-fa", "hc4-neuclir22-fa", "hc4-v1.0-ru", "hc4-neuclir22-ru"):
    with jar.open(f"topics-and-qrels/qrels.{name}.test.txt") as file:
        qrels = pytrec_eval.parse_qrel(line.decode() for line in file)
    grades = [grade for judged in qrels.values() for grade in judged.values()]
    without = [topic for topic, judged in qrels.items() if max(judged.values()) <= 0]
    run = {topic: {document: float(grade) for document, grade in judged.items()} for topic, judged in qrels.items()}
    values = pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run).values()
    print(f"{name}: topics: {len(qrels)}, judgements: {len(grades)}, relevant: {sum(grade > 0 for grade in grades)}")
    print(f"  topics without relevant documents: {len(without)}, map of a perfect run:", end=" ")
    print(f"{sum(value['map'] for value in values) / len(values):.3f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
