#!/usr/bin/env bash
# Guess: NDCG-k@10 that cwl-eval prints is DCG over the DCG of the best order of the judged documents.
# Behaviour: cwl-eval 1.0.12 divides DCG by the sum of the discounts down to k: the value of a list full of documents
# of the highest gain, whether there are any. The best possible list of a topic with two relevant documents has .36 at
# 10 and .55 at 5, not 1. ir_measures calls the measure SDCG.
# Why it matters: the mean is ruled by topics with many relevant documents, values are far below those of trec_eval
# under the same name, and no run of such a collection reaches 1.
# Source: cwl-eval, cwl/ruler/measures/cwl_dcg.py (NDCGCWLMetric.c_vector, weights that add up to 1).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    cwl-eval==1.0.12 numpy==1.26.4

expected='best list: NDCG-k@5 0.5531
best list: NDCG-k@10 0.3590
worst of five: NDCG-k@5 0.2773
worst of five: NDCG-k@10 0.1799'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import subprocess
import sys
from pathlib import Path

Path("qrels").write_text("".join(f"q 0 {name} 1\n" for name in ("a", "b")))
for name, documents in (("best list", "abxyz"), ("worst of five", "xyzab")):
    lines = [f"q Q0 {document} {rank} {9 - rank} run\n" for rank, document in enumerate(documents, 1)]
    Path("run").write_text("".join(lines))
    program = Path(sys.executable).parent / "cwl-eval"
    printed = subprocess.run([program, "qrels", "run"], capture_output=True, text=True, check=True).stdout
    for line in printed.splitlines():
        _, measure, value, *_ = line.split()
        if measure.startswith("NDCG"):
            print(f"{name}: {measure} {value}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
