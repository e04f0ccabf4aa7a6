#!/usr/bin/env bash
# Guess: MarkdownHeaderTextSplitter cuts a text at its headers; the chunks together have the words of the text.
# Behaviour: with the default strip_headers=True of langchain-text-splitters 1.1.3 the header is in the metadata of its
# chunk and no longer in the text; a section without text between two headers is in neither. Lines are stripped, so that
# indented code is flat, and the lines of a paragraph end with two blanks.
# Why it matters: a retriever reads page_content: the query "side effects of aspirin" finds no word in the chunk under
# that header, the best one, and a header that only introduces others is lost altogether. strip_headers=False keeps
# all of them.
# Source: langchain-text-splitters, markdown.py (MarkdownHeaderTextSplitter.split_text).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check langchain-text-splitters==1.1.3 langchain-core==1.8.3

expected='default:
  "Bleeding and hives." | Aspirin, Side effects of aspirin
  "Bark was chewed.  \nfor year in years:\nchew(year)" | Aspirin, History, Willow
strip_headers=False:
  "# Aspirin  \n## Side effects of aspirin  \nBleeding and hives." | Aspirin, Side effects of aspirin
  "## History  \n### Willow  \nBark was chewed.  \nfor year in years:\nchew(year)" | Aspirin, History, Willow'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from langchain_text_splitters import MarkdownHeaderTextSplitter

text = """# Aspirin

## Side effects of aspirin

Bleeding and hives.

## History

### Willow

Bark was chewed.

    for year in years:
        chew(year)
"""
headers = [("#", "title"), ("##", "section"), ("###", "part")]
for name, options in (("default", {}), ("strip_headers=False", {"strip_headers": False})):
    print(f"{name}:")
    for chunk in MarkdownHeaderTextSplitter(headers, **options).split_text(text):
        print(" ", repr(chunk.page_content).replace("'", '"'), "|", ", ".join(chunk.metadata.values()))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
