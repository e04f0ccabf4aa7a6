#!/usr/bin/env bash
# Guess: `coverage_at_k` of RecList is the share of the products that are among the first k of any user's list.
# Behaviour: in reclist 2.1.0 it is that of the whole lists of the first k users: `y_preds[:k]` cuts the list of lists.
# Eight users of whom three get one list and five another: the coverage at 1 is .4, although two of ten products are
# recommended first, and at 3 still .4; at 5 it is .8. With the rows in another order it is .8 at 3.
# Why it matters: with thousands of users the value is that of the first ten or twenty, depends on their order, and says
# that a recommender shows a small part of the products whatever it does.
# Source: RecList, metrics/standard_metrics.py (coverage_at_k).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    --no-deps reclist==2.1.0 numpy==1.26.4 pandas==2.3.3 python-dateutil==2.9.0.post0 pytz==2025.2 tzdata==2025.2 \
    six==1.17.0 scikit-learn==1.5.2 scipy==1.13.1 joblib==1.4.2 threadpoolctl==3.5.0

expected='k = 1: 0.4, of other users first 0.4, of the first 1 of all lists 0.2
k = 3: 0.4, of other users first 0.8, of the first 3 of all lists 0.6
k = 5: 0.8, of other users first 0.8, of the first 5 of all lists 0.8'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from reclist.metrics.standard_metrics import coverage_at_k

products = {number: {} for number in range(10)}
one, other = [0, 1, 2, 3], [4, 5, 6, 7]
users = [one] * 3 + [other] * 5
mixed = [one, other] * 3 + [other] * 2
for k in (1, 3, 5):
    first = {product for ranking in users for product in ranking[:k]}
    values = [coverage_at_k(rankings, products, k=k) for rankings in (users, mixed)]
    print(f"k = {k}: {values[0]}, of other users first {values[1]}, "
          f"of the first {k} of all lists {len(first) / len(products)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
