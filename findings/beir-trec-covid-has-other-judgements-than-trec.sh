#!/usr/bin/env bash
# Guess: TREC-COVID in BEIR has the judgements of TREC: documents that are not in the collection may be gone, the others
# are as they were.
# Behaviour: of the 69,318 judgements of TREC, 9,245 are gone in BEIR's qrels (both in the jar of Pyserini 0.21.0), and
# with them 4,230 of 26,664 relevant ones; 6,261 have come that the complete judgements do not have; and 348 documents
# have another grade, in all directions: relevant is not relevant, and the reverse.
# Why it matters: the two are reported under one name. A run that is perfect for the one is far from it for the other,
# and a run for TREC's documents has holes by BEIR's judgements, which count as not relevant.
# Source: Anserini 0.21.0, topics-and-qrels/qrels.covid-complete.txt and qrels.beir-v1.0.0-trec-covid.test.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==2.4.6 pytrec-eval-terrier==0.5.11
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='judgements of TREC: 69318, of BEIR: 66334, of both: 60073
relevant of TREC: 26664, of these without a line in BEIR: 4230
other grade: 0 to 1: 55, 0 to 2: 39, 1 to 0: 40, 1 to 2: 92, 2 to 0: 32, 2 to 1: 90
perfect run of TREC: map by the other judgements 0.770
perfect run of BEIR: map by the other judgements 0.775'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytrec_eval

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))


def read(name):
    with jar.open(f"topics-and-qrels/qrels.{name}.txt") as file:
        return pytrec_eval.parse_qrel(line.decode() for line in file)


def pairs(qrels):
    return {(topic, document): grade for topic, grades in qrels.items() for document, grade in grades.items()}


trec, beir = read("covid-complete"), read("beir-v1.0.0-trec-covid.test")
trec_pairs, beir_pairs = pairs(trec), pairs(beir)
both = trec_pairs.keys() & beir_pairs.keys()
changes = Counter((trec_pairs[pair], beir_pairs[pair]) for pair in both if trec_pairs[pair] != beir_pairs[pair])
relevant = [pair for pair, grade in trec_pairs.items() if grade > 0]
print(f"judgements of TREC: {len(trec_pairs)}, of BEIR: {len(beir_pairs)}, of both: {len(both)}")
gone = sum(pair not in both for pair in relevant)
print(f"relevant of TREC: {len(relevant)}, of these without a line in BEIR: {gone}")
print("other grade:", ", ".join(f"{old} to {new}: {count}" for (old, new), count in sorted(changes.items())))

for name, own, other in (("TREC", trec, beir), ("BEIR", beir, trec)):
    run = {topic: {document: float(grade) for document, grade in grades.items()} for topic, grades in own.items()}
    values = pytrec_eval.RelevanceEvaluator(other, {"map"}).evaluate(run)
    mean = sum(value["map"] for value in values.values()) / len(values)
    print(f"perfect run of {name}: map by the other judgements {mean:.3f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
