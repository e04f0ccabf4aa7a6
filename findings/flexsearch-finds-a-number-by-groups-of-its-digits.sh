#!/usr/bin/env bash
# Guess: a number is a word as others: 123456 finds the text with it, first of all, and 202 or 0 does not find 2020.
# Behaviour: FlexSearch 0.8.212 cuts numbers into groups of three digits, in texts and queries: 123456 is 123 and 456,
# and is found with 456123, here above the text with the number itself. 2020 is 202 and 0: it is found by 202 and by 0,
# and 1987 finds a text with 7 and 198. The option numeric: false of the encoder keeps numbers whole.
# Why it matters: order numbers, years, prices and ISBN are what is searched exactly; a query of one digit finds every
# year that ends in it, and the list of a number has others above it.
# Source: FlexSearch, src/encoder.js (numeric: numbers are split into triplets).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" flexsearch@0.8.212

expected='default, 123456: order 456123 | order 123456
default, 202: year 2020 | year 2021
default, 0: year 2020
default, 1987: price 1987 | price 7 to 198
numeric: false, 123456: order 123456
numeric: false, 202:
numeric: false, 0:
numeric: false, 1987: price 1987'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import FlexSearch from "flexsearch";

const { Encoder, Index } = FlexSearch;
const texts = ["order 123456", "order 456123", "year 2020", "year 2021", "price 1987", "price 7 to 198"];
const indexes = { default: new Index(), "numeric: false": new Index({ encoder: new Encoder({ numeric: false }) }) };
for (const [name, index] of Object.entries(indexes)) {
    texts.forEach((text, i) => index.add(i, text));
    for (const query of ["123456", "202", "0", "1987"]) {
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
