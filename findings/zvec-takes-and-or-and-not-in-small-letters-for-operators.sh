#!/usr/bin/env bash
# Guess: in a query_string of zvec the operators AND, OR and NOT are written in capitals, as in Lucene, and words in
# small letters are words.
# Behaviour: in zvec 0.8.0 they are operators in small letters too. "plants not safe" leaves out the text that says
# "plants that are not safe for cats" and finds another one, and "forest and birds" wants both words where "forest
# birds" wants one of them. In double quotes not is a word; && and ! mean nothing. match_string has no operators.
# Why it matters: questions have these words, and who asks for plants that are not safe gets all texts but the answer.
# Queries that are lowered before they are sent, as is usual, are no safer.
# Source: docstrings of zvec, Fts (query_string is an expression with +, - and phrases, match_string natural language)
# and FtsQueryParam (default_operator).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==2.4.6 zvec==0.8.0

expected='zvec 0.8.0
query_string plants not safe: list
query_string plants NOT safe: list
query_string plants -safe: list
query_string plants "not" safe: plants, list
query_string forest birds: birds, forest
query_string forest and birds: birds
query_string forest && birds: birds, forest
query_string plants !safe: plants, list
match_string plants not safe: plants, list'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

import zvec

print(f"zvec {version('zvec')}")
zvec.init(log_level=zvec.LogLevel.ERROR)
field = zvec.FieldSchema("text", zvec.DataType.STRING, index_param=zvec.FtsIndexParam())
vector = zvec.VectorSchema("vector", zvec.DataType.VECTOR_FP32, 2, index_param=zvec.FlatIndexParam())
schema = zvec.CollectionSchema(name="texts", fields=[field], vectors=[vector])
collection = zvec.create_and_open(path="texts", schema=schema)
texts = {
    "plants": "plants that are not safe for cats",
    "list": "plants for the house",
    "birds": "birds of the north and birds of the forest",
    "forest": "a forest fire",
}
for name, text in texts.items():
    collection.insert(zvec.Doc(id=name, fields={"text": text}, vectors={"vector": [1, 0]}))


def show(kind, query):
    found = collection.query(zvec.Query(field_name="text", fts=zvec.Fts(**{kind: query})), topk=10)
    print(f"{kind} {query}: {', '.join(document.id for document in found) or 'nothing'}")


for query in (
    "plants not safe",
    "plants NOT safe",
    "plants -safe",
    'plants "not" safe',
    "forest birds",
    "forest and birds",
    "forest && birds",
    "plants !safe",
):
    show("query_string", query)
show("match_string", "plants not safe")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
