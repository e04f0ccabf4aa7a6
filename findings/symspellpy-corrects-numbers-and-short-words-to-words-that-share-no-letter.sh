#!/usr/bin/env bash
# Guess: a correction within an edit distance of two resembles the word, and numbers and names that resemble nothing in
# the dictionary stay as they are.
# Behaviour: symspellpy 6.10.1 limits the distance alone, not its share of the length: with the bundled dictionary and
# the usual distance of two, "10" is "of", the most frequent word of two letters. lookup_compound cuts what it does not
# know into such pieces: "bm25 baseline" is "by of baseline". ignore_non_words keeps "10", not "bm25".
# Why it matters: corrected queries lose their years, versions and model names, which are the words that tell documents
# apart.
# Source: symspellpy, symspellpy.py (lookup, lookup_compound; ignore_non_words and what helpers take for a word).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    symspellpy==6.10.1

expected='10: of, distance 2
bm25 baseline: by of baseline; ignore_non_words: by of baseline
ndcg at 10: dog at of; ignore_non_words: dog at 10'

observed=$("$folder/venv/bin/python" - <<'EOF'
from importlib.resources import files

from symspellpy import SymSpell, Verbosity

checker = SymSpell(max_dictionary_edit_distance=2)
checker.load_dictionary(str(files("symspellpy") / "frequency_dictionary_en_82_765.txt"), 0, 1)
best = checker.lookup("10", Verbosity.TOP)[0]
print(f"10: {best.term}, distance {best.distance}")
for query in ("bm25 baseline", "ndcg at 10"):
    plain = checker.lookup_compound(query, 2)[0].term
    kept = checker.lookup_compound(query, 2, ignore_non_words=True)[0].term
    print(f"{query}: {plain}; ignore_non_words: {kept}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
