#!/usr/bin/env bash
# Guess: fusion of TREC runs orders the documents by score, as trec_eval does; the rank column is only for people.
# Behaviour: in Pyserini 1.6.0, reciprocal rank fusion reads the rank column as it stands. Ranks from 0, as PyTerrier
# writes them, make the first share 1 / 60 in place of 1 / 61, and a file whose ranks are all 1 gives every document the
# same share.
# Why it matters: two runs with the same documents and scores are fused with unequal weight, or without any order, and
# nothing says so.
# Source: Pyserini, pyserini/trectools/_base.py (TrecRun.rescore).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==2.4.6 pandas==3.1.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    pyserini==1.6.0

expected='ranks from 1: 0.01639 0.01613 0.01587
ranks from 0: 0.01667 0.01639 0.01613
ranks all 1: 0.01639 0.01639 0.01639'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from tempfile import TemporaryDirectory

from pyserini.trectools import RescoreMethod, TrecRun

with TemporaryDirectory() as folder:
    for name, ranks in (("from 1", (1, 2, 3)), ("from 0", (0, 1, 2)), ("all 1", (1, 1, 1))):
        lines = [f"301 Q0 {doc} {rank} {9 - place} x" for place, (doc, rank) in enumerate(zip("abc", ranks))]
        with open(f"{folder}/run.txt", "w") as file:
            file.write("\n".join(lines))
        run = TrecRun(f"{folder}/run.txt").rescore(RescoreMethod.RRF, rrf_k=60)
        print(f"ranks {name}:", *(f"{score:.5f}" for score in run.run_data["score"]))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
