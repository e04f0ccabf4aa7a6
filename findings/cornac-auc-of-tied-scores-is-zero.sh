#!/usr/bin/env bash
# Guess: where a model says nothing, because all scores are equal, the AUC is 0.5.
# Behaviour: in Cornac 3.0.1 a pair with equal scores counts as a wrong one. Equal scores have an AUC of 0, and scores
# that were rounded lose as many pairs as they tie; negated scores do not have 1 - AUC.
# Why it matters: models with few distinct scores (a tree, popularity, rounded scores) are reported as worse than
# chance.
# Source: Cornac, cornac/metrics/ranking.py (AUC.compute).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    cornac==3.0.1 numpy==2.3.5 scipy==1.16.3

expected='all equal: 0.0
two values: 0.25
negated: 0.25'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from cornac.metrics import AUC

items, relevant = np.arange(4), np.array([0, 2])
for name, scores in (("all equal", [1, 1, 1, 1]), ("two values", [1, 1, 0, 0]), ("negated", [-1, -1, 0, 0])):
    value = AUC().compute(item_indices=items, pd_scores=np.array(scores, float), gt_pos=relevant)
    print(f"{name}: {value}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
