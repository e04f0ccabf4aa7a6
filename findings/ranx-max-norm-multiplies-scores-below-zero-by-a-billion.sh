#!/usr/bin/env bash
# Guess: ranx's max norm brings the scores of each run to at most 1, whatever their sign, so that runs of query
# likelihood (log probabilities) or of a cross-encoder (logits) can be fused.
# Behaviour: in ranx 0.3.21 the divisor is max(highest score, 1e-9). Where all scores of a query are below zero, they
# are multiplied by a billion: the fusion of such a run with another is an order of its own scores alone, with
# documents that it lacks in front. Where the highest is above zero, all is as expected.
# Why it matters: all scores of query likelihood are below zero, and those of a cross-encoder for hard queries: the
# second run of the fusion then only decides which documents come first, those that the first run does not have.
# Source: ranx, normalization/max_norm.py (_max_norm).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ranx==0.3.21 numba==0.68.1 llvmlite==0.50.0 \
    numpy==1.26.4 scipy==1.17.1 pandas==3.0.6 \
    ir-measures==0.4.3 cwl-eval==1.0.12 pytrec-eval-terrier==0.5.11

expected='log probabilities: x 0.167, y 0.0833, a -4e+09, b -5e+09, c -6e+09
the same + 10: a 2, b 1.75, c 0.667, x 0.167, y 0.0833'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from ranx import Run, fuse

bm25 = {"q": {"a": 12.0, "b": 11.0, "x": 2.0, "y": 1.0}}
for name, scores in (("log probabilities", (-4.0, -5.0, -6.0)), ("the same + 10", (6.0, 5.0, 4.0))):
    other = {"q": dict(zip("abc", scores))}
    fused = fuse([Run(bm25), Run(other)], norm="max", method="sum")["q"]
    print(f"{name}:", ", ".join(f"{doc} {score:.3g}" for doc, score in sorted(fused.items(), key=lambda pair: -pair[1])))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
