#!/usr/bin/env bash
# Guess: NDCG, MAP and MRR of keras-rs put documents of equal scores in random order with shuffle_ties=True, and with
# shuffle_ties=False in the order of the columns, so that one list has one value.
# Behaviour: in keras-rs 0.4.0 they are shuffled either way: a list with four equal scores has the reciprocal ranks 1,
# 1/2, 1/3 and 1/4 in turn, with shuffle_ties=False and with a seed, too. The seed makes the sequence of values
# repeatable, not the value. The option is looked at only where there is no mask, and the metrics always make one.
# Why it matters: models of few distinct scores, rounded and clipped scores tie; the best epoch is chosen by such
# figures, and two measures in one compile() see two different rankings of the same scores. Nothing switches it off
# but distinct scores.
# Source: keras-rs, metrics/ranking_metrics_utils.py (sort_by_scores: shuffle_ties or mask is not None).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    keras==3.15.1 keras-rs==0.4.0 jax==0.10.2 jaxlib==0.10.2 numpy==2.3.5

expected='reciprocal ranks, seed 1: 0.25 0.33 0.5 1.0
NDCG, seed 1: 0.43 0.5 0.63 1.0
reciprocal ranks, shuffle_ties=False: 0.25 0.33 0.5 1.0
NDCG, shuffle_ties=False: 0.43 0.5 0.63 1.0'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import os

os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
from keras_rs.metrics import NDCG, MeanReciprocalRank

labels, scores = np.array([[1.0, 0, 0, 0]]), np.array([[0.5, 0.5, 0.5, 0.5]])


def values(metric, calls):
    seen = set()
    for _ in range(calls):
        metric.reset_state()
        metric.update_state(labels, scores)
        seen.add(round(float(metric.result()), 2))
    return sorted(seen)


print("reciprocal ranks, seed 1:", *values(MeanReciprocalRank(seed=1), 200))
print("NDCG, seed 1:", *values(NDCG(seed=1), 200))
print("reciprocal ranks, shuffle_ties=False:", *values(MeanReciprocalRank(shuffle_ties=False, seed=1), 200))
print("NDCG, shuffle_ties=False:", *values(NDCG(shuffle_ties=False, seed=1), 200))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
