#!/usr/bin/env bash
# Guess: RetrievalAUROC(top_k=k) of TorchMetrics is highest for a list whose first k documents are all relevant: 1, or
# left out, as there is no pair to compare.
# Behaviour: in torchmetrics 1.9.0 it is 0, without a warning, as it is for a list with nothing relevant among the first
# k. With three relevant documents of six, the perfect list has 1, 0, 0 and 1 without a cutoff and at 2, 3 and 4; one
# that has them in the places 1, 4 and 5 has .56, 1, 1 and .5.
# Why it matters: the mean over queries falls as a ranker improves, the more the smaller k is.
# Source: torchmetrics, functional/retrieval/auroc.py (0 where the first k have labels of one kind alone).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check torchmetrics==1.9.0 torch==2.13.0 numpy==1.26.4

expected='labels: MAP, AUC, AUC at 2, 3 and 4
1 1 1 0 0 0 [1.0, 1.0, 0.0, 0.0, 1.0]
1 1 0 1 0 0 [0.92, 0.89, 0.0, 1.0, 0.67]
1 0 0 1 1 0 [0.7, 0.56, 1.0, 1.0, 0.5]
0 0 0 1 1 1 [0.38, 0.0, 0.0, 0.0, 0.0]'

cd "$folder"
observed=$("$folder/venv/bin/python" - <<'EOF'
import torch
from torchmetrics.retrieval import RetrievalAUROC, RetrievalMAP


def values(labels):
    scores = torch.arange(len(labels), 0, -1.0)
    query = torch.zeros(len(labels), dtype=torch.long)
    measures = RetrievalMAP(), *(RetrievalAUROC(top_k=k) for k in (None, 2, 3, 4))
    return [round(float(measure(scores, torch.tensor(labels), indexes=query)), 2) for measure in measures]


print("labels: MAP, AUC, AUC at 2, 3 and 4")
for labels in ([1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0], [1, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1]):
    print(*labels, values(labels))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
