#!/usr/bin/env bash
# Guess: DCG and NDCG with relevance_scaling="power" have the gain 2 ** grade - 1, as their documentation says.
# Behaviour: in rankerEval 0.2.0 the gain is grade ** 2 - 1. A document of grade 1 earns nothing, one of grade 0 takes
# 1 / log(rank + 1) away, and so does each place up to k that a short list leaves empty: DCG falls as k grows.
# Why it matters: with binary labels the gains are 0 and -1, so that the ideal is negative and the worse list has the
# higher NDCG, above 1; with grades no figure compares with another tool of exponential gain.
# Source: rankereval/metrics.py (DCG.SCALERS, with the formula of the paper in the docstring above it).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    rankerEval==0.2.0 numpy==1.26.4 scipy==1.17.1 numba==0.68.1

expected='grades 2 1 1 0: DCG@1 3.000
grades 2 1 1 0: DCG@3 3.000
grades 2 1 1 0: DCG@6 1.826
relevant at rank 1: NDCG@3 1.000
relevant at rank 3: NDCG@3 1.442'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from rankereval import DCG, NDCG, BinaryLabels, NumericLabels, Rankings

graded = NumericLabels.from_matrix([[2, 1, 1, 0, 0, 0]])
for k in (1, 3, 6):
    value = DCG(k, relevance_scaling="power", log_base="2").score(graded, Rankings.from_ranked_indices([[0, 1, 2, 3]]))
    print(f"grades 2 1 1 0: DCG@{k} {value[0]:.3f}")
binary = BinaryLabels.from_positive_indices([[0]])
for ranking in ([0, 1, 2], [1, 2, 0]):
    value = NDCG(3, relevance_scaling="power").score(binary, Rankings.from_ranked_indices([ranking]))
    print(f"relevant at rank {ranking.index(0) + 1}: NDCG@3 {value[0]:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
