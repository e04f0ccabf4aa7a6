#!/usr/bin/env bash
# Guess: hitrate of Catalyst, at k, is the share of the lists that have a relevant item among the first k.
# Behaviour: in Catalyst 22.4 it is the mean share of the relevant items that are among the first k, recall. Lists that
# all have a relevant item on top have a hit rate of .2 at 1 where each has five of them, and it is 1 for no k below 5.
# Where each list has one relevant item, both are the same.
# Why it matters: hit rates of papers are of lists with one held-out item or of the share of lists; compared with these,
# a model has a fifth of its value. The more an evaluation knows to be relevant, the lower is its hit rate.
# Source: catalyst, metrics/functional/_hitrate.py (hits are divided by targets.sum(dim=1)).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    torch==2.13.0 numpy==1.26.4 accelerate==1.2.1 hydra-slayer==0.4.1 pyyaml==6.0.2 tensorboardx==2.6.2.2 tqdm==4.67.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps catalyst==22.4

expected='1 relevant, all on top: 1.00, 1.00, 1.00 at 1, 3, 5
2 relevant, all on top: 0.50, 1.00, 1.00 at 1, 3, 5
5 relevant, all on top: 0.20, 0.60, 1.00 at 1, 3, 5'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import torch
from catalyst.metrics.functional import hitrate

scores = torch.arange(10.0, 0.0, -1.0).repeat(4, 1)
for n_relevant in (1, 2, 5):
    relevant = torch.zeros(4, 10)
    relevant[:, :n_relevant] = 1.0
    values = hitrate(scores, relevant, topk=[1, 3, 5])
    print(f"{n_relevant} relevant, all on top: {', '.join(f'{value:.2f}' for value in values)} at 1, 3, 5")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
