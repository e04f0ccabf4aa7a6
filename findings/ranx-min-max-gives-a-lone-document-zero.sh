#!/usr/bin/env bash
# Guess: min-max scaling gives the best document of each run 1.
# Behaviour: in ranx 0.3.21, whose fuse() scales by min-max unless told otherwise, documents of a query whose scores are
# all equal, and the only document of a query, get 0, as if they were the worst; so does norm="sum", while "max"
# and "rank" give 1.
# Why it matters: a run that finds a single document (an exact match, an id, an entity) or grades without an order adds
# nothing to a fused run, where it is most certain.
# Source: ranx/normalization/min_max_norm.py: (score - min) / max(max - min, 1e-9).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check \
    ranx==0.3.21 numba==0.68.1 llvmlite==0.50.0 numpy==2.4.6 scipy==1.17.1 pandas==3.1.1
cd "$work"
venv/bin/python -W ignore - > observed <<'PYTHON'
from ranx import Run, fuse

other = Run({"q": {"c": 9.0, "d": 8.0}})
for name, scores in {"one document": {"a": 5.0}, "equal scores": {"a": 5.0, "b": 5.0}}.items():
    for norm in ("min-max", "sum", "max", "rank"):
        fused = fuse([Run({"q": scores}), other], norm=norm, method="max").run["q"]
        print(f"{name}, {norm}: a {fused['a']:g}, c {fused['c']:g}")
PYTHON
cat > expected <<'TEXT'
one document, min-max: a 0, c 1
one document, sum: a 0, c 1
one document, max: a 1, c 1
one document, rank: a 1, c 1
equal scores, min-max: a 0, c 1
equal scores, sum: a 0, c 1
equal scores, max: a 1, c 1
equal scores, rank: a 1, c 1
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
