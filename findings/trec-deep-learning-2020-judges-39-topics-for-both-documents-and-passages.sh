#!/usr/bin/env bash
# Guess: documents and passages of TREC Deep Learning have the same topics: the test of 2020 has 200, and those that are
# judged are judged for both.
# Behaviour: of the 200, 54 are judged for passages and 45 for documents, 39 for both (in the jar of Pyserini 0.21.0).
# In 2019 it is 41 of 43 and 43, in 2021 all 53 of the passages and four more. Of the topics of 2020 with judgements,
# 15 have passages alone and 6 documents alone.
# Why it matters: a table with a column for documents and one for passages compares models on other questions; who
# learns on the one and tests on the other, or takes the topics of one for the judgements of the other, drops a
# quarter of the topics without a word, or counts them as zero.
# Source: Anserini 0.21.0, topics-and-qrels/qrels.dl19-*.txt, qrels.dl20-*.txt and qrels.dl21-*.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==0.21.0

expected='2019: passages 43, documents 43, both 41
2020: passages 54, documents 45, both 39
2021: passages 53, documents 57, both 53
topics of 2020: 200, judged for either: 60
passages of 2020 by the topics of the documents: 39 of 54'

observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

folder = Path(find_spec("pyserini").submodule_search_locations[0])
jar = ZipFile(next(folder.rglob("anserini-*-fatjar.jar")))


def read(name):
    with jar.open(f"topics-and-qrels/{name}.txt") as file:
        return [line.decode().split("\t" if name.startswith("topics") else None) for line in file if line.strip()]


for year in (2019, 2020, 2021):
    passages, documents = ({row[0] for row in read(f"qrels.dl{year % 100}-{kind}")} for kind in ("passage", "doc"))
    print(f"{year}: passages {len(passages)}, documents {len(documents)}, both {len(passages & documents)}")
    if year == 2020:
        topics = {row[0] for row in read("topics.dl20")}
        last = [f"topics of 2020: {len(topics)}, judged for either: {len((passages | documents) & topics)}"]
        last.append(f"passages of 2020 by the topics of the documents: {len(passages & documents)} of {len(passages)}")
print(*last, sep="\n")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
