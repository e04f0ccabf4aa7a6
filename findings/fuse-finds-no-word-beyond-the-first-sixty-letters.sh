#!/usr/bin/env bash
# Guess: a fuzzy search for a word finds every text that has the word, and prefers the word to a part of another one.
# Behaviour: Fuse.js 7.5.0 expects the match at the beginning of the text: with its defaults (location 0, distance 100,
# threshold 0.6) a word that begins after the 60th letter is not found, and theatre is ranked above heat flow in a
# wing, because the field is shorter. ignoreLocation: true finds all; theatre stays first.
# Why it matters: on texts longer than a title, recall is that of the first line; it falls without an error as texts
# grow, and tests with short strings do not show it.
# Source: fuse.js, src/search/bitap/compute-score.js (proximity / distance) and src/core/computeScore.js (norm of the
# field).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" fuse.js@7.5.0

expected='ignoreLocation false: theatre, heat flow in a wing, letter 41
ignoreLocation true: theatre, heat flow in a wing, letter 41, letter 71, letter 201'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import Fuse from "fuse.js";

const before = (letters) => "lorem ipsum dolor ".repeat(20).slice(0, letters);
const texts = ["heat flow in a wing", "theatre", ...[40, 70, 200].map((letters) => `${before(letters)} heat`)];
for (const ignoreLocation of [false, true]) {
  const fuse = new Fuse(texts, { ignoreLocation });
  const found = fuse.search("heat").map((hit) => (hit.item.length < 20 ? hit.item : `letter ${hit.item.length - 4}`));
  console.log(`ignoreLocation ${ignoreLocation}: ${found.join(", ")}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
