#!/usr/bin/env bash
# Guess: pandas.read_csv(file, sep="\t") reads a file of topics, id and text with a tab between them, line by line.
# Behaviour: in pandas 3.0.6, and so in what reads topics with it, a text that begins with a quotation mark goes on to
# the next one, over the ends of lines: the topics between them are part of one topic's text, and marks around a text
# are dropped. No error, no warning. quoting=csv.QUOTE_NONE reads lines.
# Why it matters: queries of search logs and of MS MARCO begin with quotation marks; the topics that vanish are left
# out of runs, and measures over the topics of the run do not show it.
# Source: pandas, read_csv (quoting=csv.QUOTE_MINIMAL by default, quotechar).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pandas==3.0.6 numpy==2.4.6

expected='3 of 5 topics: 1 [plain words] 2 [to be or not to be
3	what is heat
4	say cheese" twice] 5 [quoted word]
5 of 5 topics: 1 [plain words] 2 ["to be or not to be] 3 [what is heat] 4 [say "cheese" twice] 5 ["quoted" word]'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import csv
from pathlib import Path

import pandas as pd

lines = ["1\tplain words", '2\t"to be or not to be', "3\twhat is heat", '4\tsay "cheese" twice', '5\t"quoted" word']
Path("topics.tsv").write_text("\n".join(lines) + "\n")
for options in ({}, {"quoting": csv.QUOTE_NONE}):
    topics = pd.read_csv("topics.tsv", sep="\t", names=["qid", "query"], dtype=str, **options)
    print(f"{len(topics)} of 5 topics:", *(f"{topic.qid} [{topic.query}]" for topic in topics.itertuples()))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
