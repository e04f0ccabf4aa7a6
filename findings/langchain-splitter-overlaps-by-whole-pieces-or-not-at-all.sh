#!/usr/bin/env bash
# Guess: with chunk_overlap=50, each chunk begins with the last 50 or so characters of the one before.
# Behaviour: RecursiveCharacterTextSplitter of langchain-text-splitters 1.1.3 repeats whole pieces of the separator that
# it split by, as many as fit into the overlap. Where paragraphs fit into a chunk, the piece is a paragraph: chunks of
# paragraphs longer than the overlap share nothing. Texts without blank lines overlap, by words.
# Why it matters: a sentence that refers to the paragraph before is cut off from it, which the overlap was set to
# prevent, and a study of the overlap on clean Markdown finds that it has no effect: the chunks are equal.
# Source: langchain_text_splitters/base.py (TextSplitter._merge_splits drops pieces until total <= chunk_overlap).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check langchain-text-splitters==1.1.3 langchain-core==1.8.3

expected='paragraphs: 4 chunks, shared characters 0 0 0, equal without overlap: True
one paragraph: 4 chunks, shared characters 40 48 48, equal without overlap: False'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from langchain_text_splitters import RecursiveCharacterTextSplitter


def split(text, overlap):
    return RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=overlap).split_text(text)


def shared(first, second):
    return max(length for length in range(len(first) + 1) if second.startswith(first[len(first) - length :]))


sentence = "says something about oaks that runs on to some ninety letters"
paragraphs = [f"Paragraph {number} {sentence}." for number in range(8)]
for name, separator in (("paragraphs", "\n\n"), ("one paragraph", " ")):
    text = separator.join(paragraphs)
    chunks = split(text, 50)
    lengths = [shared(first, second) for first, second in zip(chunks, chunks[1:])]
    equal = chunks == split(text, 0)
    print(f"{name}: {len(chunks)} chunks, shared characters", *lengths, end=f", equal without overlap: {equal}\n")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
