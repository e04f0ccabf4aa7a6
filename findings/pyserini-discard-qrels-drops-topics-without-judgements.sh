#!/usr/bin/env bash
# Guess: TrecRun.discard_qrels takes the judged documents out of a run (as for residual-collection evaluation); a topic
# that nobody judged stays as it is.
# Behaviour: in Pyserini 1.6.0 a topic that the qrels do not hold is dropped whole, by discard_qrels as by retain_qrels:
# of two topics, one of them not judged, one is left, and nothing says so.
# Why it matters: judgements of a first round, taken out of the runs of a second one, take the new topics with them. An
# average over the topics of the run is then of the old ones alone.
# Source: Pyserini, pyserini/trectools/_base.py (TrecRun._filter_from_qrels).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==2.4.6 pandas==3.1.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    pyserini==1.6.0

expected='discard: 1/b
retain: 1/a'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from tempfile import TemporaryDirectory

from pyserini.trectools import Qrels, TrecRun

with TemporaryDirectory() as folder:
    with open(f"{folder}/run.txt", "w") as file:
        file.write("1 Q0 a 1 9 x\n1 Q0 b 2 8 x\n2 Q0 a 1 9 x\n2 Q0 b 2 8 x\n")
    with open(f"{folder}/qrels.txt", "w") as file:
        file.write("1 0 a 1\n")
    run, qrels = TrecRun(f"{folder}/run.txt"), Qrels(f"{folder}/qrels.txt")
    for name, filtered in (("discard", run.discard_qrels(qrels)), ("retain", run.retain_qrels(qrels))):
        print(f"{name}:", *(f"{row.topic}/{row.docid}" for row in filtered.run_data.itertuples()))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
