#!/usr/bin/env bash
# Guess: accuracy.fcp of Surprise is the share of pairs of items that are predicted in the right order: where one user
# of ten has the right order and nine the wrong one, 0.1.
# Behaviour: in scikit-surprise 1.1.5 the mean of the right pairs is taken over the users who have one, and that of the
# wrong pairs over the users who have one. One user in ten right is .5, nine in ten right is .5, too. A pair with equal
# predictions is a wrong one, so that a constant has 0.
# Why it matters: the better or worse most users are served, the less they count; the figure hardly moves from a half
# where lists are short, and a comparison of two recommenders by it can go the wrong way.
# Source: surprise, accuracy.py (fcp: nc_u and nd_u are dictionaries that lack the users without such a pair); Koren
# and Sill, Collaborative filtering on ordinal user feedback, IJCAI 2013, sums over all users.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-surprise==1.1.5 numpy==1.26.4 scipy==1.15.3 joblib==1.4.2

expected='1 user right, 9 wrong: fcp 0.50, share of right pairs 0.10
9 users right, 1 wrong: fcp 0.50, share of right pairs 0.90
10 users with 1 wrong pair of 3: fcp 0.67, share of right pairs 0.67
2 users with 1 wrong pair of 3, 8 right: fcp 0.74, share of right pairs 0.93
all estimates equal: fcp 0.00, share of right pairs 0.00'

cd "$folder"
observed=$("$folder/venv/bin/python" - <<'EOF'
from surprise.accuracy import fcp

RATINGS = (5, 4, 1)


def predictions(orders):
    """Return the predictions for users who rated three items, of estimates that each order has."""
    return [
        (user, item, rating, estimate, {})
        for user, estimates in enumerate(orders)
        for item, (rating, estimate) in enumerate(zip(RATINGS, estimates))
    ]


RIGHT, WRONG, ONE_PAIR_WRONG = (4.5, 4.0, 1.5), (1.5, 4.0, 4.5), (4.0, 4.5, 1.5)
cases = {
    "1 user right, 9 wrong": [RIGHT] + [WRONG] * 9,
    "9 users right, 1 wrong": [RIGHT] * 9 + [WRONG],
    "10 users with 1 wrong pair of 3": [ONE_PAIR_WRONG] * 10,
    "2 users with 1 wrong pair of 3, 8 right": [ONE_PAIR_WRONG] * 2 + [RIGHT] * 8,
    "all estimates equal": [(3.0, 3.0, 3.0)] * 10,
}
for name, orders in cases.items():
    pairs = [
        (estimates[first] > estimates[second])
        for estimates in orders
        for first, second in ((0, 1), (0, 2), (1, 2))
    ]
    value = fcp(predictions(orders), verbose=False)
    print(f"{name}: fcp {value:.2f}, share of right pairs {sum(pairs) / len(pairs):.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
