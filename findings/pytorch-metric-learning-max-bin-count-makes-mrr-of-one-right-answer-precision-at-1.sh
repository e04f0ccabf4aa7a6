#!/usr/bin/env bash
# Guess: k="max_bin_count" of AccuracyCalculator, which the library asks for in a warning so that R-precision is right,
# looks at enough neighbours for all measures; the reciprocal rank and average precision do not change.
# Behaviour: in pytorch-metric-learning 2.9.0 it searches as many neighbours as the most frequent class has references.
# Where each query has one right reference that is one: mean reciprocal rank and mean average precision are precision at
# 1, .34 instead of .49. One query of 200 whose class has 51 references lifts the values of the others to those of a
# depth of 51. With k=None they are those of the whole list.
# Why it matters: question answering, products and faces have one or two right references each. Figures of two data
# sets, or of a sample and the whole, are at other depths, and no depth is in their names.
# Source: pytorch-metric-learning, utils/accuracy_calculator.py (determine_k: num_k of the largest bin).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pytorch-metric-learning==2.9.0 torch==2.13.0 numpy==1.26.4 scikit-learn==1.5.2 scipy==1.15.3 faiss-cpu==1.11.0

expected='one reference each, k=None: MRR 0.49, MAP 0.49, P at 1 0.34
one reference each, k=max_bin_count: MRR 0.34, MAP 0.34, P at 1 0.34
51 for one query, k=None: MRR 0.49, MAP 0.49, P at 1 0.34
51 for one query, k=max_bin_count: MRR 0.49, MAP 0.49, P at 1 0.34'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import torch
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from torch.nn.functional import normalize

generator = torch.Generator().manual_seed(0)
references = normalize(torch.randn(250, 16, generator=generator))
queries = normalize(references[:200] + 0.35 * torch.randn(200, 16, generator=generator))
one_each = torch.arange(250)
labels = {"one reference each": one_each, "51 for one query": one_each.where(one_each < 200, 0)}
names = {"mean_reciprocal_rank": "MRR", "mean_average_precision": "MAP", "precision_at_1": "P at 1"}
for case, classes in labels.items():
    for k in (None, "max_bin_count"):
        calculator = AccuracyCalculator(include=tuple(names), k=k, device=torch.device("cpu"))
        values = calculator.get_accuracy(queries, classes[:200], references, classes)
        print(f"{case}, k={k}: {', '.join(f'{short} {values[name]:.2f}' for name, short in names.items())}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
