#!/usr/bin/env bash
# Guess: FilteredDCG is DCG of the ranking: a constant that is added to all predictions, which changes no order, does
# not change it.
# Behaviour: documents whose prediction is 0 or less are taken out first (CatBoost 1.2.10), and the others move up:
# the same order is worth 1.333, 1.000 and 0 where the predictions are moved down.
# Why it matters: losses of pairs and lists leave the constant open, so that the value, and the iteration that early
# stopping chooses by it, say where the zero happens to lie. DCG of the same predictions does not move.
# Source: catboost/libs/metrics/metric.cpp, TFilteredDcgMetric.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check catboost==1.2.10 numpy==2.2.6

expected='scores +0.00: FilteredDCG 1.333, DCG 1.500
scores -0.25: FilteredDCG 1.000, DCG 1.500
scores -1.00: FilteredDCG 0.000, DCG 1.500'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from catboost.utils import eval_metric

labels, scores, query = [1, 0, 1, 0], [0.4, 0.3, 0.2, 0.1], [0] * 4
for constant in (0.0, -0.25, -1.0):
    moved = [score + constant for score in scores]
    filtered, dcg = (eval_metric(labels, moved, name, group_id=query)[0] for name in ("FilteredDCG", "DCG"))
    print(f"scores {constant:+.2f}: FilteredDCG {filtered:.3f}, DCG {dcg:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
