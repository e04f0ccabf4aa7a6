#!/usr/bin/env bash
# Guess: with the words of the collection loaded (load_words), a misspelt one of these is corrected to it.
# Behaviour: in pyspellchecker 0.9.1, correction takes the most frequent of the known words at the least distance, and
# a loaded word has the count of its occurrences in the list, beside those of the dictionary: "lucine" is corrected to
# "lupine", not to "lucene" that was loaded ten times. Only where no other word is near does a loaded word win.
# Why it matters: queries of a special field are corrected away from it, most where its words look like common ones; a
# list of terms, each once, changes next to nothing.
# Source: pyspellchecker, spellchecker.py (correction: max of the candidates by frequency; WordFrequency.load_words).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pyspellchecker==0.9.1

expected='loaded 10 times: lucine: lupine, rerankr: reranker
loaded 1000 times: lucine: lucene, rerankr: reranker
in the dictionary: lucene 0, lupine 67'

observed=$("$folder/venv/bin/python" - <<'EOF'
from spellchecker import SpellChecker

for times in (10, 1000):
    checker = SpellChecker()
    checker.word_frequency.load_words(["lucene", "reranker"] * times)
    corrections = ", ".join(f"{word}: {checker.correction(word)}" for word in ("lucine", "rerankr"))
    print(f"loaded {times} times: {corrections}")
print("in the dictionary:", ", ".join(f"{word} {SpellChecker()[word]}" for word in ("lucene", "lupine")))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
