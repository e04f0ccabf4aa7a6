#!/usr/bin/env bash
# Guess: the pre-tokenizer Whitespace splits at white space, so that "wi-fi", "c++" and "3.5" stay whole words.
# Behaviour: in tokenizers 0.23.3, Whitespace splits into runs of word characters and runs of marks: "c++" is "c" and
# "++", "3.5" is three tokens. WhitespaceSplit is the one that splits at white space. A vocabulary of whole words that
# was learnt from texts split at white space has no token for them, and all are unknown.
# Why it matters: BM25 over these tokens counts "c", "3" and "." as words, lengths grow with the marks, and "c" matches
# "c++" and "c#".
# Source: tokenizers, pre_tokenizers/whitespace.rs (the pattern of Whitespace); its documentation of the two.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    tokenizers==0.23.3

expected='Whitespace: wi | - | fi | c | ++ | 3 | . | 5; known: 0
WhitespaceSplit: wi-fi | c++ | 3.5; known: 3'

observed=$("$folder/venv/bin/python" - <<'EOF'
from tokenizers import Tokenizer, models, pre_tokenizers

text = "wi-fi c++ 3.5"
vocabulary = {word: number for number, word in enumerate(["?", *text.split()])}
for splitter in (pre_tokenizers.Whitespace(), pre_tokenizers.WhitespaceSplit()):
    words = [word for word, _ in splitter.pre_tokenize_str(text)]
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = splitter
    known = sum(token != "?" for token in tokenizer.encode(text).tokens)
    print(f"{type(splitter).__name__}: {' | '.join(words)}; known: {known}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
