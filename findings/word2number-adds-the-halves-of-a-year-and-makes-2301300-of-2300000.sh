#!/usr/bin/env bash
# Guess: word2number turns a number that is written in words into its digits, or raises an error: nineteen eighty four
# is 1984, one point five million is 1500000, two million three hundred thousand is 2300000.
# Behaviour: word2number 1.1 adds what stands side by side, so that nineteen eighty four is 1524 (19 and 80 and 4 as the
# tens and ones of a hundred that is not there), twenty twenty 40, nine eleven 20. Thousands behind millions are wrong:
# two million three hundred thousand is 2301300. A fraction before million is lost: one point five million is 1; minus
# is dropped. Words around the number do not matter: twelve monkeys is 12. There is no error in any of these.
# Why it matters: it is what answers and queries are normalised with before they are compared or searched; years and
# sums are what such answers are, and a wrong answer becomes equal to another wrong number in silence.
# Source: word2number, w2n.py (number_formation, word_to_num); its README shows two million three thousand nine hundred.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    word2number==1.1

expected='two million three thousand nine hundred: 2003900
two million three hundred thousand: 2301300
one million two hundred fifty thousand: 1251250
one point five million: 1
nineteen eighty four: 1524
nineteen fourteen: 33
two thousand and twenty: 2020
twenty twenty: 40
nine eleven: 20
minus five: 5
twelve monkeys: 12'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from word2number import w2n

texts = (
    "two million three thousand nine hundred",
    "two million three hundred thousand",
    "one million two hundred fifty thousand",
    "one point five million",
    "nineteen eighty four",
    "nineteen fourteen",
    "two thousand and twenty",
    "twenty twenty",
    "nine eleven",
    "minus five",
    "twelve monkeys",
)
for text in texts:
    print(f"{text}: {w2n.word_to_num(text)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
