#!/usr/bin/env bash
# Guess: cwl-eval, which reads runs in the form of TREC, orders documents by score, as trec_eval does, or else by the
# rank column.
# Behaviour: cwl-eval 1.0.12 takes the documents of a topic in the order of the lines; neither scores nor ranks are
# looked at. A run that is sorted by document has P@1 0 and RBP of the sorted order.
# Why it matters: runs that were joined, sorted by sort(1) or written from a mapping have other figures than in
# trec_eval, and no message; measures of C/W/L are all about the first ranks.
# Source: cwl-eval, cwl/cwl_eval.py, main: of each line document and element type alone go to RankingMaker.add, which
# appends them; the columns rank and score are read and not used.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check cwl-eval==1.0.12 numpy==2.4.6 scipy==1.17.1

expected='lines abc: P@1 1.0000 RBP@0.8 0.2000
lines bca: P@1 0.0000 RBP@0.8 0.1280
lines cba: P@1 0.0000 RBP@0.8 0.1280'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import subprocess
import sys
from pathlib import Path

Path("qrels").write_text("1 0 a 1\n1 0 b 0\n1 0 c 0\n")
rows = {"a": "1 Q0 a 1 3.0 t", "b": "1 Q0 b 2 2.0 t", "c": "1 Q0 c 3 1.0 t"}
for order in ("abc", "bca", "cba"):
    Path("run").write_text("".join(rows[doc] + "\n" for doc in order))
    tool = Path(sys.executable).with_name("cwl-eval")
    seen = subprocess.run([tool, "qrels", "run"], capture_output=True, text=True, check=True).stdout
    figures = [line.split()[1:3] for line in seen.splitlines() if line.split()[1] in ("P@1", "RBP@0.8")]
    print(f"lines {order}:", *(" ".join(figure) for figure in figures))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
