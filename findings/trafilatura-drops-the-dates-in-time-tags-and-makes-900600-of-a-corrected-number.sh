#!/usr/bin/env bash
# Guess: the text of an article that trafilatura extracts has the words of its sentences as the page shows them; what it
# leaves out is whole blocks.
# Behaviour: trafilatura 2.3.1 drops the text of <time> within a sentence ("since  the dose is"), as news and wikis mark
# dates, and takes what is struck out and what was put in for one: <del>900</del><ins>600</ins> mg is 900600 mg, and
# "was <s>not</s> approved" was not approved. Footnote marks join the number, 35 per cent is 351 per cent.
# Why it matters: it makes the corpora and the contexts of many systems. Years are what such texts are searched for, and
# a corrected number or statement is read as one that was never made. As markdown it writes ~~ and <sup>, but no date.
# Source: trafilatura, settings.py (time is removed as a tag, ins is stripped) and htmlprocessing.py (s is read as del).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    babel==2.19.0 certifi==2026.10.19.post1 charset-normalizer==3.5.3 courlan==1.4.0 dateparser==1.5.0 \
    htmldate==1.11.0 jusText==3.0.2 lxml==6.1.3 lxml_html_clean==0.4.6 python-dateutil==4.0.0 pytz==2026.6 \
    regex==2026.11.19 tld==0.13.2 trafilatura==2.3.1 tzdata==2026.6 tzlocal==5.4.5 urllib3==2.8.0

expected='trafilatura 2.3.1
Since the dose is 5 mg. | Since the dose is 5 mg.
Since 2019 the dose is 5 mg. | Since 2019 the dose is 5 mg.
Take 900600 mg. | Take ~~900~~600 mg.
It was not approved. | It was ~~not~~ approved.
It rose by 351 per cent. | It rose by 35<sup>1</sup> per cent.
The option is --depth, the best answer of the WHO. | The option is `--depth`, the best answer of the WHO.'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

import trafilatura

print(f"trafilatura {version('trafilatura')}")
rest = "This is what all of them have said about it for the whole of the time that they were there with the others."
sentences = [
    "Since <time>2019</time> the dose is 5 mg.",
    "Since 2019 the dose is 5 mg.",
    "Take <del>900</del><ins>600</ins> mg.",
    "It was <s>not</s> approved.",
    "It rose by 35<sup>1</sup> per cent.",
    "The option is <code>--depth</code>, the <mark>best</mark> answer of the <abbr>WHO</abbr>.",
]
for sentence in sentences:
    article = f"<article><p>{rest}</p><p>{sentence}</p><p>{rest} {rest}</p></article>"
    page = f"<html><head><title>A title</title></head><body>{article}</body></html>"
    texts = []
    for form in ("txt", "markdown"):
        lines = trafilatura.extract(page, output_format=form).split("\n")
        texts += [line for line in lines if line and rest not in line]
    print(" | ".join(texts))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
