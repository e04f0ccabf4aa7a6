#!/usr/bin/env bash
# Guess: AND binds more than OR in the parsers of Lucene's syntax for JavaScript, as in programming: forest AND river OR
# stone finds a text with stone alone.
# Behaviour: three of them differ. lucene 2.1.1 gives everything behind an operator to it: forest AND river OR stone is
# forest AND (river OR stone), without the text of stone alone. liqe 3.8.7 goes from the left: stone OR forest AND river
# is (stone OR forest) AND river, without stone alone. Of the three lucene-kit 1.3.0 alone has AND before OR.
# Why it matters: the same saved query finds other documents after a change of library, or in a preview in the browser
# than on the server; lucene writes the tree back without brackets, so that its reading is not seen.
# Source: lucene, lib/lucene.grammar (node: operator and the rest); liqe, src/grammar.ne.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" lucene@2.1.1 liqe@3.8.7 lucene-kit@1.3.0

expected='forest AND river OR stone
  lucene: (forest AND (river OR stone)): forest river
  liqe: forest river | stone
  lucene-kit: forest river | stone
stone OR forest AND river
  lucene: (stone OR (forest AND river)): forest river | stone
  liqe: forest river
  lucene-kit: forest river | stone'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { filter, parse } from "liqe";
import lucene from "lucene";
import { QueryParser, filter as filterKit } from "lucene-kit";

const texts = ["forest river", "stone", "forest"].map((text) => ({ text }));
const has = (node, text) => {
    if (!node.operator) return text.includes(node.term);
    const [left, right] = [has(node.left, text), has(node.right, text)];
    return node.operator === "AND" ? left && right : left || right;
};
const show = (node) => (node.operator ? `(${show(node.left)} ${node.operator} ${show(node.right)})` : node.term);
const names = (found) => found.map(({ text }) => text).join(" | ");
for (const query of ["forest AND river OR stone", "stone OR forest AND river"]) {
    const tree = lucene.parse(query);
    console.log(query);
    console.log(`  lucene: ${show(tree)}: ${names(texts.filter(({ text }) => has(tree, text)))}`);
    console.log(`  liqe: ${names(filter(parse(query), texts))}`);
    console.log(`  lucene-kit: ${names(filterKit(new QueryParser(query), texts))}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
