#!/usr/bin/env bash
# Guess: numbers are kept as they are; the default encoder folds case and accents, and 100 does not find 10.
# Behaviour: FlexSearch 0.8.212 takes out repeated letters by default (dedupe), and digits with them: 10, 100 and 110
# are the same word, and so are 1 and 11, and 199 and 19. A search for any of them finds all, in the order in which
# they were added. bok finds book. With dedupe: false of the encoder they are apart.
# Why it matters: sizes, prices, articles of a law, rooms and versions are found by others, and nothing in the list
# tells which is the one that was asked.
# Source: FlexSearch, src/encoder.js (dedupe, on by default: a character like the one before is left out).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" flexsearch@0.8.212

expected='default, 10: 10 days | 100 days | 110 days
default, 100: 10 days | 100 days | 110 days
default, 11: 1 day | 11 days
default, 19: article 199
default, bok: a book
dedupe: false, 10: 10 days
dedupe: false, 100: 100 days
dedupe: false, 11: 11 days
dedupe: false, 19:
dedupe: false, bok:'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import FlexSearch from "flexsearch";

const { Encoder, Index } = FlexSearch;
const texts = ["10 days", "100 days", "110 days", "1 day", "11 days", "article 199", "a book"];
const indexes = { default: new Index(), "dedupe: false": new Index({ encoder: new Encoder({ dedupe: false }) }) };
for (const [name, index] of Object.entries(indexes)) {
    texts.forEach((text, i) => index.add(i, text));
    for (const query of ["10", "100", "11", "19", "bok"]) {
        const found = index.search(query).map((i) => texts[i]).join(" | ");
        console.log(`${name}, ${query}: ${found}`.trim());
    }
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
