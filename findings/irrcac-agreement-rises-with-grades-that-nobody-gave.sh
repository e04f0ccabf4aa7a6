#!/usr/bin/env bash
# Guess: chance-corrected agreement of judges is that of the grades they gave: a scale with one more grade, which nobody
# used, has the same Gwet coefficient, as kappa has.
# Behaviour: in irrCAC 0.4.4 the scale is the grades that occur unless categories says otherwise, and the coefficients
# of Gwet (AC1, AC2) and of Brennan and Prediger depend on the number of its grades; with quadratic weights also on
# its width. The same judgements of eight documents have AC2 0.46 on the grades 0 to 3 that occur, and 0.72 on 0 to 4.
# Conger's kappa and Krippendorff's alpha, with the same weights, stay.
# Why it matters: two topics, or two collections, that are judged on one scale of five grades are not measured alike
# where "perfect" did not occur in one: the harder one has the lower agreement.
# Source: irrCAC, raw.py (categories are the unique ratings by default); Gwet, Handbook of Inter-Rater Reliability.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==2.4.6 scipy==1.17.1 pandas==2.3.3
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps irrCAC==0.4.4

expected='identity, None: gwet 0.50, bp 0.50, conger 0.50, krippendorff 0.53
identity, [0, 1, 2, 3, 4]: gwet 0.54, bp 0.53, conger 0.50, krippendorff 0.53
quadratic, None: gwet 0.46, bp 0.45, conger 0.45, krippendorff 0.48
quadratic, [0, 1, 2, 3, 4]: gwet 0.72, bp 0.66, conger 0.45, krippendorff 0.48'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pandas as pd
from irrCAC.raw import CAC

judgements = pd.DataFrame({"first": [0, 1, 2, 3, 0, 1, 2, 3], "second": [0, 1, 2, 3, 1, 1, 3, 0]})
for weights in ("identity", "quadratic"):
    for categories in (None, [0, 1, 2, 3, 4]):
        agreement = CAC(judgements, weights=weights, categories=categories)
        values = {name: getattr(agreement, name)()["est"]["coefficient_value"] for name in
                  ("gwet", "bp", "conger", "krippendorff")}
        print(f"{weights}, {categories}: " + ", ".join(f"{name} {value:.2f}" for name, value in values.items()))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
