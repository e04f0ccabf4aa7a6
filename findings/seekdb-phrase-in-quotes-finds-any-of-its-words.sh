#!/usr/bin/env bash
# Guess: in boolean mode of MATCH AGAINST of seekdb, which speaks the SQL of MySQL, words in double quotes are a phrase,
# as in MySQL and MariaDB, or the quotes are refused.
# Behaviour: seekdb 1.4.0 drops the quotes and finds the texts with any of the words, in any order and apart, with the
# scores of the words. The other operators that it lacks, *, > and ~, are syntax errors.
# Why it matters: a search for a title or a name finds what holds one of its words, ranked by BM25, so that the exact
# text may not even be first; an application that was moved from MySQL runs as before and returns other rows.
# Source: seekdb, documentation of MATCH AGAINST (boolean mode has +, -, brackets and no operator; quotes unmentioned).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    anyio==4.16.0 certifi==2026.10.19.post1 click==8.5.1 filelock==4.3.1 flatbuffers==25.12.19 fsspec==2026.9.0 \
    h11==0.16.0 hf-xet==1.8.0 httpcore2==2.16.2 httpcore==1.0.9 httpx2==2.16.2 httpx==0.28.1 huggingface_hub==2.4.0 \
    idna==3.20 numpy==2.4.6 onnxruntime==1.32.0 packaging==26.4 protobuf==7.36.2 pylibseekdb==1.4.0.post1 \
    PyMySQL==1.2.4 pyseekdb==1.4.0.post1 PyYAML==6.0.4 tenacity==9.2.1 tokenizers==0.23.3 tqdm==4.70.1 \
    truststore==0.10.5 typing_extensions==4.16.0

expected='5.7.25-OceanBase seekdb-v1.4.0.0
"new york": new york times square 0.66, york is a new town of old stones 0.63, the york 0.40, a new hotel 0.37
"york new": new york times square 0.66, york is a new town of old stones 0.63, the york 0.40, a new hotel 0.37
new york: new york times square 0.66, york is a new town of old stones 0.63, the york 0.40, a new hotel 0.37
+new +york: new york times square 0.66, york is a new town of old stones 0.63
+"new york": new york times square 0.66, york is a new town of old stones 0.63, a new hotel 0.37
new*: You have an error in your SQL syntax'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import os
import tempfile

import pylibseekdb

folder = tempfile.mkdtemp()
os.chdir(folder)
output = os.dup(1)
os.dup2(2, 1)
pylibseekdb.open(os.path.join(folder, "data"))
connection = pylibseekdb.connect("test")
cursor = connection.cursor()
cursor.execute("select version()")
lines = [cursor.fetchall()[0][0]]
cursor.execute("create table texts (id int primary key, body text, fulltext index words (body))")
texts = ["the york", "new york times square", "york is a new town of old stones", "a new hotel", "stones"]
for number, text in enumerate(texts):
    cursor.execute(f"insert into texts values ({number}, '{text}')")
connection.commit()
for query in ['"new york"', '"york new"', "new york", "+new +york", '+"new york"', "new*"]:
    match = f"match (body) against ('{query}' in boolean mode)"
    try:
        cursor.execute(f"select body, {match} as score from texts where {match} order by score desc, id")
        hits = ", ".join(f"{body} {score:.2f}" for body, score in cursor.fetchall())
    except pylibseekdb.SeekdbError as error:
        hits = str(error)[:36]
    lines.append(f"{query}: {hits}")
os.write(output, ("\n".join(lines) + "\n").encode())
os._exit(0)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
