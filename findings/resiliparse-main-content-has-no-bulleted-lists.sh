#!/usr/bin/env bash
# Guess: extract_plain_text of Resiliparse with main_content=True leaves out navigation, headers and footers of a page
# and keeps the text of its article, lists included.
# Behaviour: Resiliparse 2.0.1 leaves out every list of the kind ul, wherever it stands and however long its items
# are: the ingredients of a recipe between two paragraphs of its article, a step of 600 characters. Lists that are
# numbered (ol) or definitions (dl) stay, and a ul inside an ol does. Without main_content all are there.
# Why it matters: it makes the text of crawls for search and for language models. Ingredients, symptoms, requirements
# and side effects are lists; the pages that have them are not found by them, and nothing tells that text was lost.
# Source: Resiliparse, extract/html2text (rules of main_content); its documentation names boilerplate such as
# navigation and footers as what is removed.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    Resiliparse==2.0.1 FastWARC==2.0.1 brotli==1.2.1 tqdm==4.67.1 click==8.1.8

expected='ul: flour in the main content False, in the whole text True
ul of a long item: flour in the main content False, in the whole text True
ul of paragraphs: flour in the main content False, in the whole text True
ol: flour in the main content True, in the whole text True
ul in ol: flour in the main content True, in the whole text True
dl: flour in the main content True, in the whole text True
table: flour in the main content True, in the whole text True'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from resiliparse.extract.html2text import extract_plain_text

paragraph = "<p>Pancakes are made of few things that every kitchen has and are ready in twenty minutes.</p>"
long_item = "<li>Take flour that is fresh and dry and sift it twice. " + "Stir it for a while. " * 25 + "</li>"
items = "<li>200 g flour</li><li>3 eggs</li>"
lists = {
    "ul": f"<ul>{items}</ul>",
    "ul of a long item": f"<ul>{long_item}</ul>",
    "ul of paragraphs": "<ul><li><p>200 g flour</p></li><li><p>3 eggs</p></li></ul>",
    "ol": f"<ol>{items}</ol>",
    "ul in ol": f"<ol><li>Mix<ul>{items}</ul></li></ol>",
    "dl": "<dl><dt>flour</dt><dd>200 g</dd></dl>",
    "table": "<table><tr><td>flour</td><td>200 g</td></tr></table>",
}
for name, content in lists.items():
    page = f"<html><body><article><h1>Pancakes</h1>{paragraph}{content}{paragraph * 3}</article></body></html>"
    found = ["flour" in extract_plain_text(page, main_content=main) for main in (True, False)]
    print(f"{name}: flour in the main content {found[0]}, in the whole text {found[1]}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
