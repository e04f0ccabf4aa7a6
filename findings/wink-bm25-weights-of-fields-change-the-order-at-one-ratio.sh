#!/usr/bin/env bash
# Guess: the weights of fields say what a field counts beside another: twice all weights is twice all scores, and the
# order of the documents is the same.
# Behaviour: in wink-bm25-text-search 3.1.2, a weight multiplies the occurrences of words before k1 saturates them,
# while lengths stay in words. Weights of 0.1 make a repeated word count nearly in full, weights of 10 hardly at all:
# three scales of equal weights give three orders.
# Why it matters: to normalise weights to a sum of one, as tuning often does, or to raise them all, is another k1.
# Source: wink-bm25-text-search, src/wink-bm25-text-search.js (consolidate); its README calls the weight the importance
# of a field.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" wink-bm25-text-search@3.1.2

expected='weights 0.1 and 0.1: 0 (0.364), 1 (0.337), 2 (0.197)
weights 1 and 1: 1 (1.990), 0 (1.299), 2 (1.163)
weights 10 and 10: 1 (3.909), 2 (2.285), 0 (1.749)'

cd "$folder"
observed=$(node - <<'EOF'
const wink = require("wink-bm25-text-search");

const bodies = [
    "oak oak oak", "oak elm pine", "pine fir birch", "larch birch ash", "elm ash fir", "yew elm box", "oak box yew",
];
for (const weight of [0.1, 1, 10]) {
    const engine = wink();
    engine.defineConfig({ fldWeights: { title: weight, body: weight } });
    engine.definePrepTasks([(text) => text.split(" ")]);
    bodies.forEach((body, id) => engine.addDoc({ title: "tree", body }, id));
    engine.consolidate();
    const results = engine.search("oak pine", 3).map(([id, score]) => `${id} (${score.toFixed(3)})`).join(", ");
    console.log(`weights ${weight} and ${weight}: ${results}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
