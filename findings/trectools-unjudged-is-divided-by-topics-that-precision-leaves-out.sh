#!/usr/bin/env bash
# Guess: unjudged and precision at a depth are means over the same topics: where all else is relevant, they add up to
# 1.
# Behaviour: the share of unjudged documents is divided by the topics of the judgements, precision by those of the run
# (trectools 0.0.50): with a run of one of two judged topics, .25 and .5 for two documents of which one is not judged.
# Why it matters: a run of a part of the topics looks better judged than it is: the check for holes of a pool passes
# where it should not.
# Source: trectools/trec_eval.py, get_unjudged (nqueries) and get_precision.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check trectools==0.0.50 pandas==2.3.3 numpy==2.2.6

expected='1 judged topics: precision 0.50, unjudged 0.50
2 judged topics: precision 0.50, unjudged 0.25'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from pathlib import Path

from trectools import TrecEval, TrecQrel, TrecRun

Path("run").write_text("1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n")
for judged in ("1 0 a 1\n", "1 0 a 1\n2 0 q 1\n"):
    Path("qrels").write_text(judged)
    figures = TrecEval(TrecRun("run"), TrecQrel("qrels"))
    print(
        f"{judged.count(chr(10))} judged topics: precision {figures.get_precision(depth=2):.2f},",
        f"unjudged {figures.get_unjudged(depth=2):.2f}",
    )
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
