#!/usr/bin/env bash
# Guess: TrecQueries of ir_datasets reads topics with closing tags, as most files of topics have them today:
# <num>2</num> is topic 2.
# Behaviour: in ir_datasets 0.6.3 the id is 2</num>, and descriptions and narratives end in their tags, where the file
# writes them on one line; the closing tag of the title alone is taken off. In the old form of TREC, without closing
# tags, and with them on lines of their own, all is read right.
# Why it matters: no judgement and no run has a topic 2</num>: all measures are 0, or a join is empty, and description
# is searched with desc as one more word. qtype_map and remove_tags help who sees it.
# Source: ir_datasets, ir_datasets/formats/trec.py (TrecQueries: remove_tags has the title alone).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ir-datasets==0.6.3

expected='old: id: 2; title: new york; description: cheap flights; narrative: no trains; judged
own lines: id: 2; title: new york; description: cheap flights; narrative: no trains; judged
one line: id: 2</num>; title: new york; description: cheap flights</desc>; narrative: no trains</narr>; not judged'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pathlib import Path

from ir_datasets.formats import TrecQueries, TrecQuery
from ir_datasets.util import LocalDownload

forms = {
    "old": "<top>\n<num> Number: 2\n<title> new york\n<desc> Description:\ncheap flights\n"
    "<narr> Narrative:\nno trains\n</top>\n",
    "own lines": "<top>\n<num>2\n</num>\n<title>new york</title>\n<desc>\ncheap flights\n</desc>\n"
    "<narr>\nno trains\n</narr>\n</top>\n",
    "one line": "<top>\n<num>2</num>\n<title>new york</title>\n<desc>cheap flights</desc>\n"
    "<narr>no trains</narr>\n</top>\n",
}
judged = {"2"}
for name, text in forms.items():
    Path("topics.txt").write_text(text)
    (topic,) = TrecQueries(LocalDownload(Path("topics.txt"))).queries_iter()
    values = [f"{field.removeprefix('query_')}: {getattr(topic, field)}" for field in TrecQuery._fields]
    print(f"{name}:", "; ".join([*values, "judged" if topic.query_id in judged else "not judged"]))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
