#!/usr/bin/env bash
# Guess: the similarity that the EditDistance matcher of PolyFuzz returns is that of the two strings, with 1 for equal
# ones, as that of its TF-IDF matcher is and as the thresholds of its groups and plots take it.
# Behaviour: PolyFuzz 0.4.3 stretches the similarities of all matches so that the worst has 0 and the best 1. Of
# hepatitis A and hepatitis B, Austria and Australia, Iran and Iraq the first pair has 1 and the last 0, where the ratio
# is 0.91 and 0.75. If all are matched with themselves, all are not a number.
# Why it matters: a threshold of 0.9 keeps the best of the wrong matches and drops right ones, and the similarity of two
# names changes with the names that stand beside them in the list, so that batches cannot be put together.
# Source: polyfuzz, models/_distance.py (normalize=True: less the least of the list, divided by the range).

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
among hepatitis B, Australia, Iraq
  default: hepatitis A = hepatitis B 1.00, Austria = Australia 0.79, Iran = Iraq 0.00
  normalize=False: hepatitis A = hepatitis B 90.91, Austria = Australia 87.50, Iran = Iraq 75.00
among hepatitis B, Australia, Iraq, hepatitis A
  default: hepatitis A = hepatitis A 1.00, Austria = Australia 0.50, Iran = Iraq 0.00
  normalize=False: hepatitis A = hepatitis A 100.00, Austria = Australia 87.50, Iran = Iraq 75.00
among hepatitis A, Austria, Iran
  default: hepatitis A = hepatitis A nan, Austria = Austria nan, Iran = Iran nan
  normalize=False: hepatitis A = hepatitis A 100.00, Austria = Austria 100.00, Iran = Iran 100.00'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

from polyfuzz import PolyFuzz
from polyfuzz.models import EditDistance

print(f"polyfuzz {version('polyfuzz')}")
right = ["hepatitis A", "Austria", "Iran"]
for names in (
    ["hepatitis B", "Australia", "Iraq"],
    ["hepatitis B", "Australia", "Iraq", "hepatitis A"],
    ["hepatitis A", "Austria", "Iran"],
):
    print(f"among {', '.join(names)}")
    for normalize in (True, False):
        model = PolyFuzz(EditDistance(n_jobs=1, normalize=normalize)).match(right, names)
        matches = model.get_matches()
        rows = zip(matches["From"], matches["To"], matches["Similarity"], strict=True)
        told = ", ".join(f"{one} = {other} {similarity:.2f}" for one, other, similarity in rows)
        print(f"  {'default' if normalize else 'normalize=False'}: {told}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
