#!/usr/bin/env bash
# Guess: HTMLHeaderTextSplitter gives each piece of text the headers above it, as a reader of the page sees them.
# Behaviour: in langchain-text-splitters 1.1.3 a header holds for what is at its depth in the tree of tags, or deeper,
# and text is stored with the headers that hold where the next header or the end comes. A header in a div of its own
# has no text: the article below it has no header. Where a section in a div is followed by a paragraph outside of it,
# both are one chunk, without the header of the section.
# Why it matters: pages are made of divs. Filters and prompts by section read the metadata; the text of a section is
# found under the title of the page, or under nothing, beside text of another section. The same page without divs is
# right.
# Source: langchain-text-splitters, html.py (HTMLHeaderTextSplitter._generate_documents: dom_depth of active_headers).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    langchain-text-splitters==1.1.3 langchain-core==1.8.3 beautifulsoup4==4.15.0

expected='no div:
   Aspirin | Aspirin
   a pill | Aspirin
   Risks | Aspirin, Risks
   bleeding | Aspirin, Risks
   Price | Aspirin, Price
   low | Aspirin, Price
title in a div:
   Aspirin | Aspirin
   a pill | no header
   Risks | Risks
   bleeding | Risks
   Price | Price
   low | Price
section in a div:
   Aspirin | Aspirin
   Risks | Aspirin, Risks
   bleeding / see also: ibuprofen | Aspirin'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from langchain_text_splitters import HTMLHeaderTextSplitter

pages = {
    "no div": "<h1>Aspirin</h1><p>a pill</p><h2>Risks</h2><p>bleeding</p><h2>Price</h2><p>low</p>",
    "title in a div": "<div><h1>Aspirin</h1></div><p>a pill</p><h2>Risks</h2><p>bleeding</p><h2>Price</h2><p>low</p>",
    "section in a div": "<h1>Aspirin</h1><div><h2>Risks</h2><p>bleeding</p></div><p>see also: ibuprofen</p>",
}
splitter = HTMLHeaderTextSplitter([("h1", "title"), ("h2", "section")])
for name, page in pages.items():
    print(f"{name}:")
    for chunk in splitter.split_text(f"<html><body>{page}</body></html>"):
        headers = ", ".join(chunk.metadata.values()) or "no header"
        print("  ", chunk.page_content.replace("  \n", " / "), "|", headers)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
