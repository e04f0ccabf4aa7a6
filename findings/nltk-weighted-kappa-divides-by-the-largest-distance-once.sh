#!/usr/bin/env bash
# Guess: max_distance of weighted_kappa says what the largest distance is, so that weights lie between 0 and 1; it
# stands above and below the line and leaves kappa as it is.
# Behaviour: in NLTK 3.10.4, only the expected disagreement is divided by max_distance, the observed one never: for
# grades of 0 to 3 and squared distances, the true largest distance, 9, turns 0.864 into -0.227. The default, 1, gives
# what scikit-learn 1.9.1 has for quadratic weights.
# Why it matters: who sets the argument as its name asks reports that good assessors agree less than by chance.
# Source: nltk, metrics/agreement.py (weighted_kappa_pairwise passes no max_distance to Do_Kw_pairwise).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    nltk==3.10.4 scikit-learn==1.9.1 numpy==1.26.4 scipy==1.17.1

expected='max_distance 1: 0.864
max_distance 3: 0.591
max_distance 9: -0.227
scikit-learn: 0.864'

observed=$("$folder/venv/bin/python" - <<'EOF'
from nltk.metrics.agreement import AnnotationTask
from nltk.metrics.distance import interval_distance
from sklearn.metrics import cohen_kappa_score

grades = {"a": [0, 1, 2, 3, 3, 2, 1, 0], "b": [0, 1, 3, 3, 2, 2, 0, 0]}
rows = [(assessor, document, grade) for assessor, row in grades.items() for document, grade in enumerate(row)]
task = AnnotationTask(rows, distance=interval_distance)
for distance in (1, 3, 9):
    print(f"max_distance {distance}: {task.weighted_kappa(max_distance=distance):.3f}")
print(f"scikit-learn: {cohen_kappa_score(grades['a'], grades['b'], weights='quadratic'):.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
