#!/usr/bin/env bash
# Guess: queryDocuments of Vectra ranks a document by its best chunk, or by the sum, and finding more chunks of it does
# it no harm.
# Behaviour: the score of a document in Vectra 0.15.0 (npm) is the mean of those of its chunks that are among the first
# maxChunks, 50 by default. A document whose one chunk is on the query, in full, is first with maxChunks of 2, and falls
# below one that mentions it in passing as soon as its other chunks are in the list too.
# Why it matters: the larger maxChunks or the smaller the collection, the more long documents sink below short ones,
# which have one chunk; asking for more chunks to be sure of the best document takes it from the top, and in a test
# collection of fewer than 50 chunks every document is scored by all that it holds.
# Source: vectra, src/LocalDocumentResult.ts (average score across chunks), src/LocalDocumentIndex.ts (queryDocuments).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" vectra@0.15.0

expected='maxChunks 2: all of the forest 0.99 (chunks 0.99), in passing 0.70 (chunks 0.70)
maxChunks 3: all of the forest 0.99 (chunks 0.99), in passing 0.70 (chunks 0.70)
maxChunks 4: in passing 0.70 (chunks 0.70), all of the forest 0.54 (chunks 0.99 0.09)
maxChunks 50: in passing 0.70 (chunks 0.70), all of the forest 0.39 (chunks 0.99 0.09 0.09)'

cd "$folder"
observed=$(node --input-type=module - 2> "$folder/log" <<'EOF'
import { LocalDocumentIndex } from "vectra";

// A vector that counts four words, and has a fifth component that grows with the length.
const vector = (text) => {
  const words = text.split(/\s+/);
  const counts = ["forest", "stone", "lake", "wing"].map((word) => words.filter((other) => other === word).length);
  return [...counts, words.length / 5];
};
const embeddings = {
  maxTokens: 500,
  createEmbeddings: async (inputs) => ({ status: "success", output: [inputs].flat().map(vector) }),
};
const chunkingConfig = { chunkSize: 8, chunkOverlap: 0 };
const index = new LocalDocumentIndex({ folderPath: "index", embeddings, chunkingConfig });
await index.createIndex();
const texts = {
  "all of the forest":
    "forest forest forest forest.\n\nthe lake wing stone lake wing and\n\na lake here wing lake again",
  "in passing": "forest and the lake",
  "another": "wing of a stone",
};
for (const [name, text] of Object.entries(texts)) {
  await index.upsertDocument(name, text, "txt");
}
for (const maxChunks of [2, 3, 4, 50]) {
  const found = await index.queryDocuments("forest", { maxDocuments: 2, maxChunks });
  const rows = found.map((document) => {
    const scores = document.chunks.map((chunk) => chunk.score.toFixed(2));
    return `${document.uri} ${document.score.toFixed(2)} (chunks ${scores.join(" ")})`;
  });
  console.log(`maxChunks ${maxChunks}: ${rows.join(", ")}`);
}
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
