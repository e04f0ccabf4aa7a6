#!/usr/bin/env bash
# Guess: TokenChunker(chunk_size=128) of Chonkie cuts a text into chunks of 128 tokens, about 100 words, between words.
# Behaviour: in chonkie 1.7.0 the tokenizer of TokenChunker, SentenceChunker and RecursiveChunker is "character" by
# default: a token is a letter, chunks have 128 characters, some 20 words, and TokenChunker cuts words in two where the
# number is full. token_count of the chunks is that of characters, too. tokenizer="word" counts words.
# Why it matters: the parts of a cut word are no terms of an index ("judgeme" and "nts"), and chunks are a fifth of what
# was planned: comparisons with splitters that count tokens are of other lengths.
# Source: chonkie, chunker/token.py (tokenizer="character").

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check chonkie==1.7.0 numpy==2.3.5

expected='TokenChunker: 25 chunks of up to 23 words, token_count 128
SentenceChunker: 40 chunks of up to 13 words, token_count 79
RecursiveChunker: 40 chunks of up to 13 words, token_count 79
cut: eeds judgeme | nts of queri
SentenceChunker, words: 5 chunks of up to 117 words'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from chonkie import RecursiveChunker, SentenceChunker, TokenChunker

text = " ".join(["The ranking of documents by a model needs judgements of queries and documents."] * 40)
for chunker in (TokenChunker, SentenceChunker, RecursiveChunker):
    chunks = chunker(chunk_size=128).chunk(text)
    longest = max(len(chunk.text.split()) for chunk in chunks)
    print(f"{chunker.__name__}: {len(chunks)} chunks of up to {longest} words, token_count {chunks[0].token_count}")
first, second = TokenChunker(chunk_size=128).chunk(text)[:2]
print(f"cut: {first.text[-12:]} | {second.text[:12]}")
chunks = SentenceChunker(tokenizer="word", chunk_size=128).chunk(text)
print(f"SentenceChunker, words: {len(chunks)} chunks of up to {max(len(chunk.text.split()) for chunk in chunks)} words")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
