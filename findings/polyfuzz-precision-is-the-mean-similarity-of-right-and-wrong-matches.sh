#!/usr/bin/env bash
# Guess: precision and recall of PolyFuzz, which it plots to compare models, say how many of the matches are right.
# Behaviour: PolyFuzz 0.4.3 knows no right answers. Its precision at a threshold is the mean of the similarities above
# it, and its recall the share of names that have a match above it. Five names that are all matched with another country
# or another drug have a precision of 0.72, five that are all matched with longer forms of themselves 0.50; the recall
# of both is 1.
# Why it matters: the plots have these names and are used to choose a model and a threshold. They prefer the model whose
# similarities are high, whatever it matches, and cannot be compared with the precision that others report.
# Source: polyfuzz, metrics.py (precision_recall_curve takes the matches alone: mean and share of their similarities).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    cloudpickle==3.1.3 contourpy==1.3.3 cycler==0.12.1 fonttools==4.68.0 joblib==1.6.0 kiwisolver==1.5.1 \
    matplotlib==3.8.4 narwhals==2.29.0 numpy==2.4.6 packaging==26.4 pandas==3.1.1 pillow==13.0.0 polyfuzz==0.4.3 \
    pyparsing==3.3.3 python-dateutil==4.0.0 RapidFuzz==3.14.6 scikit-learn==1.9.1 scipy==1.17.1 seaborn==0.13.2 \
    threadpoolctl==3.8.0 tqdm==4.70.1 tzdata==2026.6

expected='polyfuzz 0.4.3
pairs that are the same: 5 of 5 matched, precision 0.50, recall 1.00
pairs that are not: 5 of 5 matched, precision 0.72, recall 1.00'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

from polyfuzz import PolyFuzz
from polyfuzz.metrics import precision_recall_curve

print(f"polyfuzz {version('polyfuzz')}")


def show(name, pairs):
    matches = PolyFuzz("TF-IDF").match(list(pairs), list(pairs.values())).get_matches()
    if isinstance(matches, dict):
        matches = matches["TF-IDF"]
    right = sum(dict(zip(matches["From"], matches["To"], strict=True))[one] == other for one, other in pairs.items())
    _, recall, precision = precision_recall_curve(matches)
    print(f"{name}: {right} of {len(pairs)} matched, precision {precision[0]:.2f}, recall {recall[0]:.2f}")


show("pairs that are the same", {
    "Iran": "Iran (Islamic Republic of)",
    "Austria": "Austria, Europe",
    "Niger": "Niger Republic",
    "HAV": "HAV, hepatitis A",
    "vitamin C": "vitamin C, ascorbic acid",
})
show("pairs that are not", {
    "Iran": "Iraq",
    "Austria": "Australia",
    "Niger": "Nigeria",
    "hepatitis A": "hepatitis B",
    "vitamin C": "vitamin D",
})
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
