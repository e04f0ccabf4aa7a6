#!/usr/bin/env bash
# Guess: price-parser, given a currency sign that stands at a number, returns that number: 999 of "iphone 13 under
# $999". Three digits behind a full stop after a dollar sign are cents and a tenth: fuel at $3.599.
# Behaviour: price-parser 0.5.1 takes the first number of the text and the first currency, wherever each stands.
# "iphone 13 under $999" costs 13 dollars, "2 x $30" 2, "top 10 laptops for 800 EUR" 10. Three digits behind a full
# stop or comma are thousands in any currency: fuel at $3.599 costs 3599 and at $0.999 a gallon 999. Letters after the
# number are dropped: $1.2M is 1.2.
# Why it matters: prices of queries and of titles become filters. A limit of 999 is one of 13, which excludes
# everything, and no error or missing value tells it.
# Source: price-parser, parser.py (extract_price_text: the first of several numbers, with a comment that one near the
# currency would be better; get_decimal_separator: three digits are a group).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    price-parser==0.5.1 attrs==26.1.0

expected='laptop under $999: 999 $
iphone 13 under $999: 13 $
2 x $30: 2 $
top 10 laptops for 800 EUR: 10 EUR
fuel at $3.59: 3.59 $
fuel at $3.599: 3599 $
fuel at $0.999: 999 $
$1.2M house: 1.2 $'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from price_parser import Price

texts = (
    "laptop under $999",
    "iphone 13 under $999",
    "2 x $30",
    "top 10 laptops for 800 EUR",
    "fuel at $3.59",
    "fuel at $3.599",
    "fuel at $0.999",
    "$1.2M house",
)
for text in texts:
    price = Price.fromstring(text)
    print(f"{text}: {price.amount} {price.currency}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
