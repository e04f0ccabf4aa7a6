#!/usr/bin/env bash
# Guess: Orama ranks by BM25, in which a document with five times the word in five times the length is better than, or
# as good as, the short one.
# Behaviour: Orama 3.1.18 puts the share of the word among the document's words where BM25 has its number, and divides
# by the length once more. Five of 50 words count less than one of 10 (a third), a document that is the word ten times
# as much as one that is it once, and more occurrences in a long document add next to nothing.
# Why it matters: long documents sink whatever they say; k and b, tuned elsewhere or compared with Lucene's, do not
# mean here what they mean there.
# Source: orama, packages/orama/src/components/index.ts (insertDocumentScoreParameters: tf = frequency / tokens.length)
# and algorithms.ts (BM25).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @orama/orama@3.1.18

expected='10 of 10 words: 1.393
1 of 1 words: 1.393
1 of 10 words: 0.599
5 of 50 words: 0.164
1 of 50 words: 0.152
BM25 of numbers, without idf: 5 of 50 1.499, 1 of 10 1.289'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { create, insert, search } from "@orama/orama";

const index = create({ schema: { text: "string" } });
const others = (count) => Array.from({ length: count }, (_, number) => `other${number}`).join(" ");
const heat = (times, length) => insert(index, { id: `${times} of ${length}`, text: "heat ".repeat(times) + others(length - times) });
for (const [times, length] of [[1, 10], [5, 50], [1, 50], [10, 10], [1, 1]]) heat(times, length);
for (let number = 0; number < 5; number++) insert(index, { id: `none${number}`, text: others(20) });
const { hits } = await search(index, { term: "heat", exact: true });
for (const hit of hits) console.log(`${hit.id} words: ${hit.score.toFixed(3)}`);

const bm25 = (times, length) => (times * 2.2) / (times + 1.2 * (0.25 + (0.75 * length) / 22.1));
console.log(`BM25 of numbers, without idf: 5 of 50 ${bm25(5, 50).toFixed(3)}, 1 of 10 ${bm25(1, 10).toFixed(3)}`);
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
