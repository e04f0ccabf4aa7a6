#!/usr/bin/env bash
# Guess: ngramDistance of ClickHouse is near 1 for words that share no letters, and ngramSearch near 0.
# Behaviour: both compare groups of four bytes, and a word of three has none: in ClickHouse 26.9 (chDB 4.4.0) the
# distance of any two words of up to three letters is 0, of cat and dog as of cat and cat, and ngramSearch for such a
# word is 1 in every text. The next letter changes it to the contrary: cats and dogs have 1. The functions with UTF8
# compare groups of three characters, and have the same of words of two letters.
# Why it matters: names, codes and abbreviations have three letters; a query for cat by ngramSearch returns the table,
# with the value of a perfect match, and copies by ngramDistance < 0.2 are all short words.
# Source: ClickHouse, src/Functions/FunctionsStringSimilarity.cpp (N = 4; 0 where there are no n-grams); documentation
# of ngramDistance and ngramSearch.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check chdb==4.4.0 chdb-core==26.9.0

expected='ClickHouse 26.9
ngramDistance(cat, cat): 0.00
ngramDistance(cat, dog): 0.00
ngramDistance(ai, usa): 0.00
ngramDistance(cats, dogs): 1.00
ngramDistance(cat, dogs): 1.00
ngramSearch(the old stone, cat): 1.00
ngramSearch(the old stone, old): 1.00
ngramSearch(the old stone, cats): 0.00
ngramSearchUTF8(the old stone, cat): 0.00
ngramSearchUTF8(the old stone, ai): 1.00'

cd "$folder"
observed=$("$folder/venv/bin/python" - 2> "$folder/log" <<'EOF'
import chdb

print("ClickHouse", ".".join(str(chdb.query("SELECT version()", "TSV")).split(".")[:2]))
for function, pairs in {
    "ngramDistance": [("cat", "cat"), ("cat", "dog"), ("ai", "usa"), ("cats", "dogs"), ("cat", "dogs")],
    "ngramSearch": [("the old stone", "cat"), ("the old stone", "old"), ("the old stone", "cats")],
    "ngramSearchUTF8": [("the old stone", "cat"), ("the old stone", "ai")],
}.items():
    for first, second in pairs:
        value = float(str(chdb.query(f"SELECT {function}('{first}', '{second}')", "TSV")))
        print(f"{function}({first}, {second}): {value:.2f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
