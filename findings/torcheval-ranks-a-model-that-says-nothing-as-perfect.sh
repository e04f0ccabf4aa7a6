#!/usr/bin/env bash
# Guess: the reciprocal rank and the hit rate of equal scores are those of some order of the items: by their place, by
# chance, or the worst.
# Behaviour: in torcheval 0.0.7 the rank of the right item is one more than the number of higher scores. A model that
# gives all 1000 items one score has a reciprocal rank and a hit rate at 1 of 1 for each query; so has one whose scores
# are all NaN. Random scores have a mean reciprocal rank of .007, in bfloat16 .009, and .85 where a sigmoid saturates.
# Why it matters: a network that has collapsed, or whose outputs are saturated or of half precision, is reported as
# better, and early stopping picks that checkpoint.
# Source: torcheval, metrics/functional/ranking/reciprocal_rank.py and hit_rate.py (torch.gt(input, y_score).sum()).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check torcheval==0.0.7 torch==2.13.0 numpy==1.26.4

expected='random scores: mean reciprocal rank 0.007, hit rate at 1 0.000, at 10 0.008
in bfloat16: mean reciprocal rank 0.009, hit rate at 1 0.002, at 10 0.012
with two decimals: mean reciprocal rank 0.011, hit rate at 1 0.004, at 10 0.016
saturated by sigmoid(100 x): mean reciprocal rank 0.848, hit rate at 1 0.848, at 10 0.848
all equal: mean reciprocal rank 1.000, hit rate at 1 1.000, at 10 1.000
all NaN: mean reciprocal rank 1.000, hit rate at 1 1.000, at 10 1.000'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import torch
from torcheval.metrics.functional import hit_rate, reciprocal_rank

random = np.random.default_rng(0)
scores = torch.tensor(random.random((500, 1000)), dtype=torch.float32)
right = torch.tensor(random.integers(0, 1000, 500))
cases = {
    "random scores": scores,
    "in bfloat16": scores.bfloat16(),
    "with two decimals": scores.mul(100).round().div(100),
    "saturated by sigmoid(100 x)": torch.sigmoid(100 * scores),
    "all equal": torch.zeros_like(scores),
    "all NaN": torch.full_like(scores, float("nan")),
}
for name, each in cases.items():
    print(f"{name}: mean reciprocal rank {float(reciprocal_rank(each, right).mean()):.3f}, hit rate at 1 "
          f"{float(hit_rate(each, right, k=1).mean()):.3f}, at 10 {float(hit_rate(each, right, k=10).mean()):.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
