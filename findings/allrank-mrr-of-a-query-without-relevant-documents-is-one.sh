#!/usr/bin/env bash
# Guess: mrr of allRank gives a query without relevant documents 0, and counts the first document whose grade is above
# 0.
# Behaviour: allRank 1.4.3 takes the rank of the first of the documents with the highest grade that the list has. Where
# all grades are 0 that is rank 1, so that a query without relevant documents has a reciprocal rank of 1, unless no
# query of the batch has any: then all have 0. A document of grade 1 at rank 1 and one of grade 2 at rank 4 make .25.
# Why it matters: test sets of learning to rank have queries without relevant documents (220 of the 784 in MQ2008), and
# grades from 0 to 4. MRR rises with the hopeless queries, and with the size of the batch.
# Source: allRank, models/metrics.py (mrr: torch.max of the sorted grades; zero_sum_mask is one sum over all queries).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check torch==2.13.0 numpy==1.26.4
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps allrank==1.4.3

expected='no relevant document, in a batch of its own: 0.00
no relevant document, beside a query that has one: 1.00, 0.25
grades 1 0 0 1 and 1 0 0 2: 1.00, 0.25'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import sys
from types import ModuleType

import torch

# The metrics need no more than the grade of padding from the module that loads data, which imports old releases.
loading = ModuleType("allrank.data.dataset_loading")
loading.PADDED_Y_VALUE = -1
sys.modules["allrank.data.dataset_loading"] = loading
from allrank.models.metrics import mrr  # noqa: E402


def show(name, *grades):
    scores = torch.tensor([[4.0, 3.0, 2.0, 1.0]] * len(grades))
    values = mrr(scores, torch.tensor(grades))[:, 0].tolist()
    print(f"{name}: {', '.join(f'{value:.2f}' for value in values)}")


show("no relevant document, in a batch of its own", [0.0, 0.0, 0.0, 0.0])
show("no relevant document, beside a query that has one", [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0])
show("grades 1 0 0 1 and 1 0 0 2", [1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 2.0])
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
