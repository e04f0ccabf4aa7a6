#!/usr/bin/env bash
# Guess: DefaultExtractor of boilerpy3 keeps a table of the main text or drops it; ArticleExtractor, made for news,
# drops it.
# Behaviour: boilerpy3 1.0.7 judges each cell by the blocks before and behind it and keeps those at the edges of the
# long text. Of a table of three drugs and their doses between two paragraphs the default extractor keeps "ibuprofen"
# and, three cells on, the dose of aspirin as its neighbour; the list of five ingredients keeps its first and last.
# ArticleExtractor leaves the head of the first column above the last row. The paragraph after a table is dropped by
# the default extractor.
# Why it matters: the text that is indexed, and shown to a model as the passage, states what no page said, with each
# word from the page. Nothing marks the gap.
# Source: boilerpy3, filters.py (DensityRulesClassifier and NumWordsRulesClassifier: link and text density of the
# previous, this and the next block).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    boilerpy3==1.0.7

expected='table, KeepEverythingExtractor:
    Notes / (text) / Drug / Dose / ibuprofen / 400 mg / paracetamol / 1000 mg / aspirin / 500 mg / (text)
table, DefaultExtractor:
    Notes / (text) / Drug / Dose / ibuprofen / 500 mg
table, ArticleExtractor:
    Notes / (text) / Drug / aspirin / 500 mg / (text)
list, KeepEverythingExtractor:
    Notes / (text) / 200 g flour / 3 eggs / 400 ml milk / 50 g sugar / some salt / (text)
list, DefaultExtractor:
    Notes / (text) / 200 g flour / some salt
list, ArticleExtractor:
    Notes / (text) / 200 g flour / 50 g sugar / some salt / (text)'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from boilerpy3 import extractors

paragraph = (
    "<p>The doses are those that the guideline of the society lists for adults who have no other illness, "
    "with an interval of at least six hours between two of them.</p>"
)
drugs = (("ibuprofen", "400 mg"), ("paracetamol", "1000 mg"), ("aspirin", "500 mg"))
rows = "".join(f"<tr><td>{drug}</td><td>{dose}</td></tr>" for drug, dose in drugs)
table = f"<table><tr><th>Drug</th><th>Dose</th></tr>{rows}</table>"
things = "".join(f"<li>{thing}</li>" for thing in ("200 g flour", "3 eggs", "400 ml milk", "50 g sugar", "some salt"))
for name, content in (("table", table), ("list", f"<ul>{things}</ul>")):
    page = f"<html><head><title>Notes</title></head><body><h1>Notes</h1>{paragraph}{content}{paragraph}</body></html>"
    for kind in (extractors.KeepEverythingExtractor, extractors.DefaultExtractor, extractors.ArticleExtractor):
        lines = kind().get_content(page).split("\n")
        text = " / ".join("(text)" if line.startswith("The doses") else line for line in lines if line)
        print(f"{name}, {kind.__name__}:\n    {text}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
