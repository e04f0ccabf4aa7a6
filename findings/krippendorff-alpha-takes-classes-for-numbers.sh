#!/usr/bin/env bash
# Guess: krippendorff.alpha of labels is the nominal alpha, as that of NLTK is by default: equal or not.
# Behaviour: krippendorff 0.9.0 takes labels as numbers on an interval scale by default: a disagreement of 1 and 5
# weighs 16 times that of 1 and 2. The same judgements with their classes numbered in another order have another
# alpha, above or below; level_of_measurement="nominal" has one value, that of NLTK.
# Why it matters: agreement on intents, or on reasons why a document is relevant, depends on who numbered them; alpha
# of graded judgements is not comparable with one from another library unless both say the level.
# Source: krippendorff, krippendorff.py (alpha: level_of_measurement="interval"); nltk, metrics/agreement.py
# (binary_distance).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    krippendorff==0.9.0 nltk==3.10.4 numpy==1.26.4

expected='navigate inform buy: default 0.842, nominal 0.712, NLTK 0.712
buy navigate inform: default 0.449, nominal 0.712, NLTK 0.712'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import krippendorff
from nltk.metrics.agreement import AnnotationTask

first = "navigate inform buy buy inform navigate inform buy navigate inform".split()
second = "navigate inform buy inform inform navigate buy buy navigate inform".split()
for order in ("navigate inform buy", "buy navigate inform"):
    numbers = {name: number for number, name in enumerate(order.split())}
    data = [[numbers[name] for name in names] for names in (first, second)]
    task = AnnotationTask([(who, row, name) for who in (0, 1) for row, name in enumerate(data[who])])
    nominal = krippendorff.alpha(data, level_of_measurement="nominal")
    print(f"{order}: default {krippendorff.alpha(data):.3f}, nominal {nominal:.3f}, NLTK {task.alpha():.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
