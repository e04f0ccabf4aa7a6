#!/usr/bin/env bash
# Guess: the complete judgements of TREC-COVID are those of the five rounds together: each round judged pairs that were
# not judged before, and what was judged in round 1 is in the end still judged.
# Behaviour: of the 69,854 pairs of the five files (no pair is in two) 1,083 are not among the 69,318 of qrels.complete,
# 311 of them relevant: each of their documents has left the collection, whose releases change ids and drop texts. 547
# pairs are in complete and in no round. Of round 1 a pair of thirty is gone.
# Why it matters: a run of an early round, or an index of an early release, evaluated by the complete file has judged
# relevant documents as unjudged; residual evaluation by the files of earlier rounds removes ids that are no more and
# leaves the same text under its new one.
# Source: Anserini 0.21.0, topics-and-qrels/qrels.covid-*.txt and docids.covid.round5.txt (the valid documents).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='pairs of the rounds: 69854, in two rounds: 0
pairs of complete: 69318, in no round: 547
round 1: 283 of 8691 are not in complete, 79 of them relevant
round 2: 490 of 12037 are not in complete, 82 of them relevant
round 3: 229 of 12713 are not in complete, 107 of them relevant
round 4: 81 of 13262 are not in complete, 43 of them relevant
round 5: 0 of 23151 are not in complete, 0 of them relevant
missing: 1083, relevant: 311, documents among the valid ones of round 5: 0'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))


def read(name):
    with jar.open(f"topics-and-qrels/{name}.txt") as file:
        return [line.decode().split("\t" if name.startswith("topics") else None) for line in file if line.strip()]


def pairs(name):
    return {(row[0], row[2]): int(row[3]) for row in read(f"qrels.covid-{name}")}


complete = pairs("complete")
rounds = [pairs(f"round{number}") for number in range(1, 6)]
judged = {pair: grade for grades in rounds for pair, grade in grades.items()}
total = sum(map(len, rounds))
print(f"pairs of the rounds: {total}, in two rounds: {total - len(judged)}")
print(f"pairs of complete: {len(complete)}, in no round: {len(set(complete) - set(judged))}")
for number, grades in enumerate(rounds, 1):
    gone = [grade for pair, grade in grades.items() if pair not in complete]
    relevant = sum(grade > 0 for grade in gone)
    print(f"round {number}: {len(gone)} of {len(grades)} are not in complete, {relevant} of them relevant")
missing = {pair: grade for pair, grade in judged.items() if pair not in complete}
valid = {row[0] for row in read("docids.covid.round5")}
relevant = sum(grade > 0 for grade in missing.values())
still = len({document for _, document in missing} & valid)
print(f"missing: {len(missing)}, relevant: {relevant}, documents among the valid ones of round 5: {still}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
