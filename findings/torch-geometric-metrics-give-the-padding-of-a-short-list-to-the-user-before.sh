#!/usr/bin/env bash
# Guess: lists of fewer than k items are padded with -1, as PyTorch Geometric's own nearest neighbour index pads them,
# and its metrics of link prediction count the padding as wrong items.
# Behaviour: in torch-geometric 2.8.1 an item of a user is found as user * items + item. -1 of a user is then the last
# item of the user before: where that user has it in the test, each place of padding is a hit. Two lists without any
# right item, one of them with four places of padding, have a precision of .4 and a recall of 2 in one order of the
# users and 0 in the other. Coverage counts the last item as recommended.
# Why it matters: lists are short where items of the training are excluded and few are left, for cold users and after
# filters. Figures are too high, for those whose neighbours in the batch have the item with the highest number.
# Source: torch_geometric, metrics/link_pred.py (pred_rel_mat, LinkPredCoverage.update), nn/pool/knn.py (fill_value=-1).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check torch-geometric==2.8.1 torch==2.13.0 numpy==1.26.4

expected='full list, then short list: Precision 0.40, Recall 2.00, MRR 0.25, HitRatio 0.50, Coverage 0.60
short list, then full list: Precision 0.00, Recall 0.00, MRR 0.00, HitRatio 0.00, Coverage 0.60'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import torch
from torch_geometric.metrics import LinkPredCoverage, LinkPredHitRatio, LinkPredMRR, LinkPredPrecision, LinkPredRecall

# The test has item 9, the last of ten, for one user, and item 4 for the other; neither list has any of them.
lists = {"full": [0, 1, 2, 3, 5], "short": [3, -1, -1, -1, -1]}
tests = {"full": 9, "short": 4}
for order in (("full", "short"), ("short", "full")):
    predictions = torch.tensor([lists[user] for user in order])
    wanted = torch.tensor([[0, 1], [tests[user] for user in order]])
    values = []
    metrics = LinkPredPrecision(5), LinkPredRecall(5), LinkPredMRR(5), LinkPredHitRatio(5), LinkPredCoverage(5, 10)
    for metric in metrics:
        metric.update(predictions, wanted)
        values.append(f"{type(metric).__name__.removeprefix('LinkPred')} {metric.compute():.2f}")
    print(f"{' list, then '.join(order)} list: {', '.join(values)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
