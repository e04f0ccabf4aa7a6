#!/usr/bin/env bash
# Guess: add_start_index=True of LangChain's text splitters stores where each chunk begins in the text, however lengths
# are counted.
# Behaviour: langchain-text-splitters 1.1.3 looks for a chunk from the end of the one before, less chunk_overlap, in
# characters, whatever length_function counts. With an overlap of words or tokens every other chunk begins before that
# place and has a start_index of -1 (the search for the next one starts near the beginning again), or that of the next
# place where the same words stand. Without an overlap all are right.
# Why it matters: from_tiktoken_encoder and from_huggingface_tokenizer count in tokens. Citations, highlights, passages
# that are judged by their place (token precision and recall, overlap with gold spans) miss half of the chunks, or
# point to another sentence; text[-1:] raises no error.
# Source: langchain-text-splitters, base.py (create_documents: offset = index + previous_chunk_len - chunk_overlap).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    langchain-text-splitters==1.1.3 langchain-core==1.8.3

expected='characters, overlap 14: stored 0 56 112 168; right 0 56 112 168
words, overlap 2: stored 0 -1 112 -1; right 0 56 112 168
words, overlap 0: stored 0 70 140; right 0 70 140'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from langchain_text_splitters import RecursiveCharacterTextSplitter

text = " ".join(f"word{number:02d}" for number in range(30))
for name, length, size, overlap in (
    ("characters", len, 70, 14),
    ("words", lambda part: len(part.split()), 10, 2),
    ("words", lambda part: len(part.split()), 10, 0),
):
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=size, chunk_overlap=overlap, length_function=length, add_start_index=True
    )
    chunks = splitter.create_documents([text])
    stored = [chunk.metadata["start_index"] for chunk in chunks]
    print(f"{name}, overlap {overlap}: stored", *stored, end="; ")
    print("right", *(text.index(chunk.page_content) for chunk in chunks))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
