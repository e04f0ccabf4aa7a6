#!/usr/bin/env bash
# Guess: the mean reciprocal rank is the mean over queries of 1 / the rank of the first relevant document.
# Behaviour: in rexmex 0.1.3, mean_reciprocal_rank takes one list, and returns the mean over its relevant items of 1 /
# their ranks: with the first place right, another relevant document at rank 3 takes it from 1 to 0.667. A relevant item
# that the list lacks is a ValueError.
# Why it matters: the figure falls with the number of relevant documents, and no list of real judgements can be
# evaluated where one of them was not retrieved.
# Source: rexmex, metrics/ranking.py (mean_reciprocal_rank).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==1.26.4 scipy==1.15.3 scikit-learn==1.5.2 pandas==2.2.3 six==1.17.0
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    rexmex==0.1.3

expected='a 1.0
a b 0.667
a c ValueError: relevant item did not appear in recommendation'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from rexmex.metrics.ranking import mean_reciprocal_rank

ranked = ["a", "x", "b", "y"]
for relevant in (["a"], ["a", "b"], ["a", "c"]):
    try:
        print(*relevant, round(mean_reciprocal_rank(relevant, ranked), 3))
    except ValueError as error:
        print(*relevant, "ValueError:", error)
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
