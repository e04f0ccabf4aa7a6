#!/usr/bin/env bash
# Guess: a claim of Climate-FEVER is one topic, and its relevant documents were agreed upon.
# Behaviour: of the 1,535 topics of BEIR's Climate-FEVER (in the jar of Pyserini 0.21.0) 45 claims are there twice, word
# for word but for capitals and marks, under two ids, and 25 of them, more than half, have other relevant documents the
# second time. The relevant documents of the one have an nDCG@10 of .73 by the judgements of the other.
# Why it matters: this is how far two judgements of one claim agree where they differ, beside which small differences
# between models say little. Tests of significance take the twins for independent topics, and whoever takes out copies
# of topics by their exact text finds none of them.
# Source: Anserini 0.21.0, topics-and-qrels/topics.beir-v1.0.0-climate-fever.test.tsv.gz and its qrels.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==2.4.6 pytrec-eval-terrier==0.5.11
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='topics: 1535, claims: 1490, claims with two topics: 45
with other relevant documents: 25, with the same letters and marks: 0
ndcg_cut_10 of the relevant documents of the twin, where they differ: 0.734'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import gzip
import re
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytrec_eval

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))
packed = jar.read("topics-and-qrels/topics.beir-v1.0.0-climate-fever.test.tsv.gz")
topics = dict(line.split("\t", 1) for line in gzip.decompress(packed).decode().strip("\n").split("\n"))
with jar.open("topics-and-qrels/qrels.beir-v1.0.0-climate-fever.test.txt") as file:
    qrels = pytrec_eval.parse_qrel(line.decode() for line in file)

groups = defaultdict(list)
for topic, claim in topics.items():
    groups[tuple(re.findall(r"\w+", claim.lower()))].append(topic)
pairs = [group for group in groups.values() if len(group) == 2]
other = [pair for pair in pairs if qrels[pair[0]].keys() != qrels[pair[1]].keys()]
print(f"topics: {len(topics)}, claims: {len(groups)}, claims with two topics: {len(pairs)}")
exact = sum(topics[first] == topics[second] for first, second in pairs)
print(f"with other relevant documents: {len(other)}, with the same letters and marks: {exact}")

measure = "ndcg_cut_10"
evaluator = pytrec_eval.RelevanceEvaluator(qrels, {measure})
run = {}
for pair in other:
    for topic, twin in (pair, pair[::-1]):
        run[topic] = {document: 1.0 for document in qrels[twin]}
values = evaluator.evaluate(run).values()
mean = sum(value[measure] for value in values) / len(values)
print(f"{measure} of the relevant documents of the twin, where they differ: {mean:.3f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
