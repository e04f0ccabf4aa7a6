#!/usr/bin/env bash
# Guess: a cut-off shortens the list that is evaluated; the relevant labels of the query are a set, and stay as they
# are.
# Behaviour: in ir-metrics 0.1.6 (the module irmetrics) the cut-off k also cuts the relevant labels to the first k that
# are given. With the labels 1, 2, 3 and a list that begins with 3, RR@1 is 0; with the same labels given as 3, 1, 2 it
# is 1. Recall@1 has a denominator of 1.
# Why it matters: the order in which a file lists its relevant documents decides the figure, and a query of many
# relevant documents is measured against a few of them.
# Source: irmetrics, io.py (ensure_inputs).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir-metrics==0.1.6 numpy==1.26.4

expected='labels [1, 2, 3]: RR@1 0.0, RR 1.0, recall@1 0.0
labels [3, 1, 2]: RR@1 1.0, RR 1.0, recall@1 1.0'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from irmetrics.topk import recall, rr

ranked = [3, 9, 8]
for labels in ([1, 2, 3], [3, 1, 2]):
    print(f"labels {labels}: RR@1 {rr([labels], [ranked], k=1)}, RR {rr([labels], [ranked])}, "
          f"recall@1 {recall([labels], [ranked], k=1)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
