#!/usr/bin/env bash
# Guess: fusion by Condorcet gives the same result for the same runs, and keeps the order of two documents that no run
# contradicts.
# Behaviour: the documents are sorted from the order of a Python set of their ids, which another process has in
# another order, by a comparison that is not transitive (ranx 0.3.21): the runs a, b and c, d are fused to other
# rankings under other hash seeds, with b above a in some. With runs of the same documents the result is one.
# Why it matters: lists of retrievers overlap in part: that is why they are fused. A run cannot be made again, and the
# first document of a retriever may come last.
# Source: ranx/fusion/condorcet.py: get_candidates makes a set; _compare gives a tie to the first of the two.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ranx==0.3.21 numba==0.61.2 numpy==2.2.6 scipy==1.17.1 pandas==3.0.6

expected='runs ab and cd:            several orders
b above a in some of them: True
runs abc, acb and bac:     one order'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import os
import subprocess
import sys

CODE = """
import sys
from ranx import Run, fuse

runs = [Run({"q": {doc: float(9 - n) for n, doc in enumerate(docs)}}) for docs in sys.argv[1:]]
scores = fuse(runs=runs, method="condorcet", norm=None).run["q"]
print("".join(sorted(scores, key=scores.get, reverse=True)))
"""


def orders(*rankings):
    return {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", CODE, *rankings],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in range(1, 7)
    }


apart, same = orders("ab", "cd"), orders("abc", "acb", "bac")
print("runs ab and cd:           ", "one order" if len(apart) == 1 else "several orders")
print("b above a in some of them:", any(order.index("b") < order.index("a") for order in apart))
print("runs abc, acb and bac:    ", "one order" if len(same) == 1 else "several orders")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
