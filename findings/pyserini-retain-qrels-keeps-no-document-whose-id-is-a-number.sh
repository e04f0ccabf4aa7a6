#!/usr/bin/env bash
# Guess: TrecRun.retain_qrels of Pyserini keeps the judged documents of a run (judged@k is 1 then, as its documentation
# says), and discard_qrels takes them out.
# Behaviour: in Pyserini 1.6.0 the ids of a run are read as text and those of qrels as what pandas makes of the column.
# Where all of them are numbers, as in MS MARCO, no id is equal to another: retain_qrels returns a run without a line,
# discard_qrels the run as it was, and nothing says so. One id with a letter in the qrels makes both work.
# Why it matters: residual collections and condensed lists (runs without unjudged documents) are the whole run or
# none of it; the first looks like a result.
# Source: Pyserini, pyserini/trectools/_base.py (TrecRun.read_run has a dtype for docid, Qrels.read_run has none).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==2.4.6 pandas==3.1.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    pyserini==1.6.0

expected='numbers: retained nothing, left 11 12 13
one id with a letter: retained 11 13, left 12'

observed=$("$folder/venv/bin/python" -W ignore - "$folder" <<'EOF'
import sys
from pathlib import Path

from pyserini.trectools import Qrels, TrecRun

folder = Path(sys.argv[1])
(folder / "run.txt").write_text("1 Q0 11 1 9 x\n1 Q0 12 2 8 x\n1 Q0 13 3 7 x\n")
for name, lines in (("numbers", "1 0 11 1\n1 0 13 0\n"), ("one id with a letter", "1 0 11 1\n1 0 13 0\n2 0 d1 1\n")):
    (folder / "qrels.txt").write_text(lines)
    run, qrels = TrecRun(folder / "run.txt"), Qrels(folder / "qrels.txt")
    retained = " ".join(run.retain_qrels(qrels).run_data["docid"]) or "nothing"
    print(f"{name}: retained {retained}, left", " ".join(run.discard_qrels(qrels).run_data["docid"]))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
