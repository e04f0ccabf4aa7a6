#!/usr/bin/env bash
# Guess: with b = 0 lengths of documents play no part (BM15), and with k1 = 0 neither do frequencies (the binary model).
# Behaviour: okapibm25 1.4.1 takes 0 as a parameter that was not given: b is 0.75 and k1 is 1.2. With b of 0.000001 the
# scores are those that b = 0 asks for.
# Why it matters: 0 is the end of every grid over b and k1, and an ablation without the normalisation of lengths has the
# figures of the default without a word.
# Source: okapibm25, BM25.ts (BM25: constants.b ? constants.b : 0.75).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" okapibm25@1.4.1

expected='default: 1.188, 0.699
b 0: 1.188, 0.699
b 0.000001: 0.875, 1.204
k1 0: 1.188, 0.699
k1 0.000001: 0.875, 0.875'

cd "$folder"
observed=$(node - <<'EOF'
const BM25 = require("okapibm25").default;

const documents = ["oak", "oak oak tall trees of a forest in the north", "pine", "birch", "elm"];
const scores = (constants) => BM25(documents, ["oak"], constants).slice(0, 2).map((score) => score.toFixed(3)).join(", ");
console.log(`default: ${scores()}`);
for (const b of [0, 0.000001]) console.log(`b ${b}: ${scores({ b, k1: 1.2 })}`);
for (const k1 of [0, 0.000001]) console.log(`k1 ${k1}: ${scores({ b: 0.75, k1 })}`);
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
