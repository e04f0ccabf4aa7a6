#!/usr/bin/env bash
# Guess: the tail percentage of RecBole rises the rarer the recommended items are; items without any interaction in the
# training are the end of the tail.
# Behaviour: in RecBole 1.2.1 the tail is the last tenth of the items that training has, by default. Lists of items that
# training never saw have a tail percentage of 0, as those of the most popular items have; those of items with one
# interaction have 1. The average popularity, computed from the same counts, is the lowest for them.
# Why it matters: a change that brings new items into the lists lowers the figure that shall show it, and two measures
# of one table say the opposite. Random lists over a catalogue of which a half is new have half the value of those over
# the old half.
# Source: recbole, evaluator/metrics.py (TailPercentage.get_tail: of data.count_items, a counter of the training).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    torch==2.13.0 numpy==1.26.4 scipy==1.15.3 pandas==2.2.3 scikit-learn==1.5.2 tensorboard==2.16.2 \
    pyyaml==6.0.3 colorlog==6.12.0 colorama==0.4.6 texttable==1.7.0 thop==0.1.1.post2209072238 tabulate==0.9.0
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps recbole==1.2.1

expected='most popular: tailpercentage@4 0.00, averagepopularity@4 38.50
fewest interactions: tailpercentage@4 1.00, averagepopularity@4 2.50
no interaction: tailpercentage@4 0.00, averagepopularity@4 0.00
random of those seen: tailpercentage@4 0.10, averagepopularity@4 20.50
random of all: tailpercentage@4 0.05, averagepopularity@4 10.44'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from collections import Counter

import torch
from recbole.evaluator.collector import DataStruct
from recbole.evaluator.metrics import AveragePopularity, TailPercentage

training = Counter({item: 41 - item for item in range(1, 41)})  # items 1 to 40 have 40 to 1 interactions, 41 to 80 none
config = {"topk": [4], "metric_decimal_place": 2, "tail_ratio": None}
generator = torch.Generator().manual_seed(0)


def pick_random(n_items):
    return torch.stack([torch.randperm(n_items, generator=generator)[:4] + 1 for _ in range(5000)])


lists = {
    "most popular": torch.tensor([[1, 2, 3, 4]]),
    "fewest interactions": torch.tensor([[37, 38, 39, 40]]),
    "no interaction": torch.tensor([[50, 60, 70, 80]]),
    "random of those seen": pick_random(40),
    "random of all": pick_random(80),
}
for name, items in lists.items():
    data = DataStruct()
    data.set("rec.items", items)
    data.set("data.count_items", training)
    values = {**TailPercentage(config).calculate_metric(data), **AveragePopularity(config).calculate_metric(data)}
    print(f"{name}: {', '.join(f'{measure} {value:.2f}' for measure, value in values.items())}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
