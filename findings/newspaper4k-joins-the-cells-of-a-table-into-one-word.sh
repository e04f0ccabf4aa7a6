#!/usr/bin/env bash
# Guess: the text of an article that newspaper4k extracts has the cells of a table apart, by spaces, tabs or lines.
# Behaviour: newspaper4k 0.9.6 joins all cells and rows of a table without anything between: "AgeDoseadult500child250"
# is one word. Items of lists, headings and paragraphs are apart.
# Why it matters: no word and no number of a table is found by a search, the words at the borders of cells are words
# that exist nowhere, and a model that reads the passage is shown 500250. The page itself looks right.
# Source: newspaper4k, outputformatters.py (_convert_to_text), settings.py (td and tr are not among BLOCK_LEVEL_TAGS).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    beautifulsoup4==4.15.0 brotli==1.2.1 certifi==2026.10.19.post1 charset-normalizer==3.5.3 \
    feedparser-sgmllib==2.1.0 feedparser==6.0.14 filelock==4.3.1 idna==3.20 lxml==6.1.3 lxml_html_clean==0.4.6 \
    newspaper4k==0.9.6 pillow==13.0.0 python-dateutil==2.9.0.post0 PyYAML==6.0.4 requests-file==3.0.1 \
    requests==2.34.2 six==1.17.0 soupsieve==4.1.3 tldextract==5.4.0 typing_extensions==4.16.0 urllib3==2.8.0 \
    w3lib==2.5.0

expected='newspaper4k 0.9.6
table: AgeDoseadult500child250
list: adult 500 | child 250
paragraphs: adult 500 | child 250'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

from newspaper import Article

print(f"newspaper4k {version('newspaper4k')}")
first = "The report says what has to be done by those who take it for the first time and by all of the others too."
last = "This is what was to be said of it, and of what has been done since then by those who were there before."
blocks = {
    "table": "<table><tr><th>Age</th><th>Dose</th></tr><tr><td>adult</td><td>500</td></tr>"
    "<tr><td>child</td><td>250</td></tr></table>",
    "list": "<ul><li>adult 500</li><li>child 250</li></ul>",
    "paragraphs": "<p>adult 500</p><p>child 250</p>",
}
for name, block in blocks.items():
    body = f"<article><p>{first}</p>{block}<p>{last}</p></article>"
    page = f"<html><head><title>A title</title></head><body>{body}</body></html>"
    article = Article("https://example.org/page")
    article.download(input_html=page)
    article.parse()
    lines = [line for line in article.text.split("\n") if line and line not in (first, last)]
    print(f"{name}: {' | '.join(lines)}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
