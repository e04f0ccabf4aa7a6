#!/usr/bin/env bash
# Guess: in a full text query of Infinity, which knows AND, OR, NOT, brackets, phrases and boosts as Lucene does, a
# minus before a word excludes it, and a plus requires it.
# Behaviour: infinity-embedded-sdk 0.5.2 takes +, -, ! and && for nothing, and the words are alternatives. "forest
# -north" puts the text with both words first and finds those with north alone, "+forest +lake" texts with one of
# them. Only the words AND and NOT in capitals, NOT behind AND, do what was meant.
# Why it matters: the documents that a user excludes come first, ranked up by the very word, and nothing is reported.
# Queries that were written for Lucene or Elasticsearch, or come from a search box, run and mean the opposite.
# Source: none in the package; an earlier src/parser/search_lexer.l of infinity read +, -, ! and && as operators.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    annotated-types==0.8.0 certifi==2026.10.19.post1 charset-normalizer==3.5.3 et_xmlfile==2.0.0 idna==3.20 \
    infinity-embedded-sdk==0.5.2 iniconfig==2.3.1 numpy==1.26.4 openpyxl==3.1.5 packaging==26.4 pandas==2.2.3 \
    pluggy==1.7.0 polars==1.9.0 pyarrow==17.0.0 pydantic==2.9.2 pydantic_core==2.23.4 pytest==8.3.5 \
    python-dateutil==4.0.0 pytz==2026.6 requests==2.32.5 six==1.17.0 sqlglot==11.7.1 thrift==0.20.0 \
    typing_extensions==4.16.0 tzdata==2026.6 urllib3==2.8.0

expected='infinity-embedded-sdk 0.5.2
forest: forest 0.83, forest lake 0.64, forest lake north 0.52
forest north: forest lake north 1.04, forest 0.83, north 0.83, forest lake 0.64, lake north 0.64
forest -north: forest lake north 1.04, forest 0.83, north 0.83, forest lake 0.64, lake north 0.64
forest !north: forest lake north 1.04, forest 0.83, north 0.83, forest lake 0.64, lake north 0.64
forest AND NOT north: forest 0.83, forest lake 0.64
+forest +lake: forest lake 1.28, forest lake north 1.04, forest 0.83, lake north 0.64
forest && lake: forest lake 1.28, forest lake north 1.04, forest 0.83, lake north 0.64
forest AND lake: forest lake 1.28, forest lake north 1.04'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import os
import tempfile
from importlib.metadata import version

import infinity_embedded
from infinity_embedded.common import ConflictType
from infinity_embedded.index import IndexInfo, IndexType

# The engine writes to the standard output when it starts.
output = os.dup(1)
os.dup2(2, 1)
connection = infinity_embedded.connect(tempfile.mkdtemp())
columns = {"number": {"type": "integer"}, "body": {"type": "varchar"}}
table = connection.get_database("default_db").create_table("texts", columns)
texts = ["forest lake north", "forest lake", "lake north", "forest", "north", "stone"]
table.insert([{"number": number, "body": text} for number, text in enumerate(texts)])
table.create_index("index", IndexInfo("body", IndexType.FullText), ConflictType.Error)
lines = [f"infinity-embedded-sdk {version('infinity-embedded-sdk')}"]
queries = ["forest", "forest north", "forest -north", "forest !north", "forest AND NOT north"]
queries += ["+forest +lake", "forest && lake", "forest AND lake"]
for query in queries:
    found = table.output(["number", "_score"]).match_text("body", query, 10).to_result()[0]
    hits = sorted(zip(found["SCORE"], found["number"], strict=True), key=lambda hit: (-round(hit[0], 2), hit[1]))
    lines.append(f"{query}: " + ", ".join(f"{texts[number]} {score:.2f}" for score, number in hits))
os.write(output, ("\n".join(lines) + "\n").encode())
os._exit(0)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
