#!/usr/bin/env bash
# Guess: jusText decides by the links and the stop words of a paragraph whether it is text of the page; what stands in
# plain sentences without any link is kept.
# Behaviour: in jusText 3.0.2 a paragraph of at most 200 characters is never good by itself; it is kept where a longer
# one stands near. A page of ten paragraphs of two sentences each has no text at all, nor has a question with its
# answer. At 201 characters all ten are text, and a page with one such paragraph keeps the short ones beside it.
# Why it matters: it cleans the web corpora that are searched and trained on. Opening hours, answers, abstracts in
# parts and pages in simple language are lost as documents, not as parts, while their share of the crawl is not seen.
# Source: jusText, core.py (LENGTH_HIGH_DEFAULT = 200: only above it a paragraph is good, else neargood or short,
# which is revised by the neighbours).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    jusText==3.0.2 lxml==6.1.3 lxml_html_clean==0.4.6

expected='paragraphs of 100 100 100 100 100 100 100 100 100 100 characters: 0 are text
paragraphs of 150 150 150 150 150 150 150 150 150 150 characters: 0 are text
paragraphs of 200 200 200 200 200 200 200 200 200 200 characters: 0 are text
paragraphs of 201 201 201 201 201 201 201 201 201 201 characters: 10 are text
paragraphs of 150 201 150 characters: 3 are text
paragraphs of 60 25 characters: 0 are text'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from justext import get_stoplist, justext

stop_words = get_stoplist("English")
words = "the library is open from nine to five on every day of the week but for the one before " * 3


def count(*lengths):
    paragraphs = "".join(f"<p>{words[: length - 2]}s.</p>" for length in lengths)
    page = f"<html><body>{paragraphs}</body></html>"
    found = justext(page.encode(), stop_words)
    assert [len(paragraph.text) for paragraph in found] == list(lengths)
    return sum(not paragraph.is_boilerplate for paragraph in found)


for lengths in ((100,) * 10, (150,) * 10, (200,) * 10, (201,) * 10, (150, 201, 150), (60, 25)):
    print(f"paragraphs of {' '.join(map(str, lengths))} characters: {count(*lengths)} are text")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
