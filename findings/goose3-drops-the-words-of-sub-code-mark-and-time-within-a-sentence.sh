#!/usr/bin/env bash
# Guess: cleaned_text of goose3 has the words of the paragraphs of an article that it keeps; what it may leave out is
# whole blocks, such as menus, captions and lists.
# Behaviour: goose3 3.1.22 takes out the elements of an article that have fewer than three stop words, also those in
# the midst of a sentence: short texts of sub, code, kbd, mark, abbr, cite, var, u and time. CO2, H2SO4 and vitamin B12
# become CO, H SO and vitamin B, and "the option is x" ends before x. Longer ones stay, and so does what is in em,
# strong, a, small and sup, so that 10 to the sixth is 106.
# Why it matters: formulas, names of functions and options, dates and highlighted words are what an article is
# searched for, and the sentences read on without them. A dose or a vitamin that is answered from it is another one.
# Source: goose3, outputformatters.py (remove_fewwords_paragraphs takes all elements; replace_with_text lists tags that
# are text), cleaners.py (em and small).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    beautifulsoup4==4.15.0 certifi==2026.10.19.post1 charset-normalizer==3.5.3 cssselect==1.6.0 goose3==3.1.22 \
    idna==3.20 langdetect==1.0.9 lxml==6.1.3 pillow==13.0.0 pyahocorasick==2.3.1 python-dateutil==4.0.0 \
    requests==2.34.2 six==1.17.0 soupsieve==4.1.3 typing_extensions==4.16.0 tzdata==2026.6 urllib3==2.8.0

expected='goose3 3.1.22
The emissions of CO and of N O rose,
It holds vitamin B and H SO ,
The option is and the key is ,
The answer of is from the ,
It is in and in ,
The dose is high, small, linked and 106,
The name is the one that they have for it ,'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

from goose3 import Goose

print(f"goose3 {version('goose3')}")
rest = "and this is what they have said about it for all of the time that they were there with the others."
sentences = [
    "The emissions of CO<sub>2</sub> and of N<sub>2</sub>O rose,",
    "It holds vitamin B<sub>12</sub> and H<sub>2</sub>SO<sub>4</sub>,",
    "The option is <code>--depth</code> and the key is <kbd>Tab</kbd>,",
    "The <mark>best</mark> answer of <time>2019</time> is from the <abbr>WHO</abbr>,",
    "It is in <cite>Nature</cite> and <u>not</u> in <var>y</var>,",
    "The <em>dose</em> is <strong>high</strong>, <small>small</small>, <a href='/b'>linked</a> and 10<sup>6</sup>,",
    "The name is <code>the one that they have for it</code>,",
]
for sentence in sentences:
    page = f"<html><head><title>A title</title></head><body><article><p>{sentence} {rest}</p></article></body></html>"
    text = Goose().extract(raw_html=page).cleaned_text
    print(text.replace(rest, "").strip())
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
