#!/usr/bin/env bash
# Guess: the "Average Popularity" of daisyRec is the mean popularity of what was recommended, as in the article that its
# source names (Abdollahpouri et al. 2019): a list of the best sellers has the highest one, right or wrong.
# Behaviour: daisyRec 2.3.0 adds up the popularity of the hits alone and divides by the number of items of the user in
# the test: lists of the three best sellers, all of them wrong, have 0; rare items that are right have 4.75; and with
# one rare hit below two best sellers the value is 3.75.
# Why it matters: the measure is reported to show that a model is less bound to popular items; it falls with recall, and
# a model that recommends best sellers to everybody, and is wrong, comes out as the one without any bias.
# Source: daisyRec, daisy/utils/metrics.py (Popularity: np.intersect1d(pred, gt), / len(gt)).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    --no-deps daisyRec==2.3.0 numpy==1.26.4 pandas==2.3.3 python-dateutil==2.9.0.post0 pytz==2025.2 tzdata==2025.2 \
    six==1.17.0

expected='best sellers, all wrong: 0.00, mean popularity of the lists 900.00
rare items, right: 4.75, mean popularity of the lists 4.00
two best sellers, one rare hit: 3.75, mean popularity of the lists 635.00
best sellers, all right: 900.00, mean popularity of the lists 900.00'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from daisy.utils.metrics import Popularity

popularity = np.array([1000, 900, 800, 5, 4, 3])  # of each item
rare, popular = {0: {3, 4}, 1: {3}}, {0: {0, 1, 2}, 1: {0, 1, 2}}  # test items of two users
cases = {
    "best sellers, all wrong": (rare, [0, 1, 2]),
    "rare items, right": (rare, [3, 4, 5]),
    "two best sellers, one rare hit": (rare, [0, 1, 3]),
    "best sellers, all right": (popular, [0, 1, 2]),
}
for name, (test, ranking) in cases.items():
    value = Popularity(test, np.array([ranking, ranking]), [0, 1], popularity)
    print(f"{name}: {value:.2f}, mean popularity of the lists {popularity[ranking].mean():.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
