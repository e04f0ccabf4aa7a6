#!/usr/bin/env bash
# Guess: the bias, which is the value of the list as it stands less the value expected over all orders of ties, is 0
# where no two scores are equal.
# Behaviour: in tie-aware-retrieval-metrics 0.1.1 the expected precision and F1 are divided by k, those of the list as
# it stands by its length. With three documents and k = 10 the precision is 0.667 or 0.2, a bias of 0.467 without a
# tie, and minimum and maximum are both above the expected value.
# Why it matters: bias and range are read as the harm of ties; over topics with short lists the bias is that of list
# lengths, and the larger k, the larger it is. NDCG, MAP and recall are not concerned.
# Source: trm/metrics.py (expected_precision and _precision_fn, expected_f1 and _f1_fn).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    tie-aware-retrieval-metrics==0.1.1

expected='precision@3: expected 0.667 minimum 0.667 maximum 0.667 bias 0.000
precision@10: expected 0.200 minimum 0.667 maximum 0.667 bias 0.467
f1@3: expected 0.800 minimum 0.800 maximum 0.800 bias 0.000
f1@10: expected 0.333 minimum 0.800 maximum 0.800 bias 0.467
recall@3: expected 1.000 minimum 1.000 maximum 1.000 bias 0.000
recall@10: expected 1.000 minimum 1.000 maximum 1.000 bias 0.000
map@3: expected 0.833 minimum 0.833 maximum 0.833 bias 0.000
map@10: expected 0.833 minimum 0.833 maximum 0.833 bias 0.000'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from trm import evaluate

found = evaluate([[0.9, 0.8, 0.7]], [[True, False, True]], metrics=["precision", "f1", "recall", "map"], k_list=[3, 10])
for metric, values in found.metrics.items():
    for k, value in values.items():
        print(f"{metric}@{k}: expected {value.expected:.3f} minimum {value.minimum:.3f} "
              f"maximum {value.maximum:.3f} bias {value.bias:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
