#!/usr/bin/env bash
# Guess: Kendall's tau union of two rankings depends on their orders alone: other document ids do not change it.
# Behaviour: in repro_eval 0.5.0, swapping the first two of four documents gives 0.667, 0 or -0.667, depending on the
# names. Each ranking becomes the list of its documents' places in alphabetical order, and tau is computed of these
# two lists, place by place, and not of the ranks of each document. Two runs without a common document may reach 1.
# Why it matters: KTU is reported as the agreement of a reproduced run with the original, and says something about
# ids.
# Source: repro_eval, measure/document_order.py (_KTU).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    repro-eval==0.5.0 ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6

expected='names a b c d: 0.667
all names: -0.667 0.0 0.667
no common document: 1.0'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from itertools import permutations

from repro_eval.measure.document_order import KTU


def ktu(first, second):
    runs = [{"1": {doc: 4.0 - rank for rank, doc in enumerate(docs)}} for docs in (first, second)]
    return round(KTU(*runs), 3)


def swapped(w, x, y, z):
    return ktu([w, x, y, z], [x, w, y, z])


print("names a b c d:", swapped(*"abcd"))
print("all names:", *sorted({swapped(*names) for names in permutations("abcd")}))
print("no common document:", ktu("abcd", "wxyz"))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
