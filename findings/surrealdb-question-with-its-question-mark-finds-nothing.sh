#!/usr/bin/env bash
# Guess: a question or a sentence finds in SurrealDB's full text search the texts with its words; marks are where the
# tokenizers class and punct split, and are dropped, as by other engines.
# Behaviour: the marks are words of their own in SurrealDB 2.0.0 (Python package surrealdb 2.0.0, embedded), in the
# index and in the query, and all words must be there. "forest?" finds texts with a question mark alone, "forest, lake"
# those with a comma, "forest." those that end with a full stop. No tokenizer drops them; blank leaves them on words.
# Why it matters: what users type with marks finds nothing or a few texts by chance, and a text with many full stops
# gets a part of its BM25 from them. The analyzer of the documentation's first example is of this kind.
# Source: surrealdb, documentation of DEFINE ANALYZER (class, punct); the marks are seen with search::analyze.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    aiohappyeyeballs==2.7.1 aiohttp==3.14.5 aiosignal==1.4.0 attrs==26.1.0 certifi==2026.10.19.post1 \
    charset-normalizer==3.5.3 frozenlist==1.8.0 idna==3.20 multidict==7.2.1 propcache==0.5.4 pydantic_core==2.50.5 \
    requests==2.34.2 surrealdb==2.0.0 typing_extensions==4.16.0 urllib3==2.8.0 websockets==17.4 yarl==1.25.1

expected='surrealdb 2.0.0
surrealdb-2.0.0
class: is it a forest ?
    forest: the forest of the north | what is the forest | a lake and a forest. | is it a forest? | forest, then lake
    forest?: is it a forest?
    forest.: a lake and a forest.
    forest lake: a lake and a forest. | forest, then lake
    forest, lake: forest, then lake
    what is the forest?: nothing
blank, punct: is it a forest ?
    forest: the forest of the north | what is the forest | a lake and a forest. | is it a forest? | forest, then lake
    forest?: is it a forest?
    forest.: a lake and a forest.
    forest lake: a lake and a forest. | forest, then lake
    forest, lake: forest, then lake
    what is the forest?: nothing
blank: is it a forest?
    forest: the forest of the north | what is the forest
    forest?: is it a forest?
    forest.: a lake and a forest.
    forest lake: nothing
    forest, lake: forest, then lake
    what is the forest?: nothing'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

from surrealdb import Surreal

print(f"surrealdb {version('surrealdb')}")
texts = ["the forest of the north", "what is the forest", "a lake and a forest.", "is it a forest?"]
texts += ["forest, then lake"]
queries = ["forest", "forest?", "forest.", "forest lake", "forest, lake", "what is the forest?"]
with Surreal("mem://") as database:
    database.use("space", "texts")
    print(database.version())
    for number, text in enumerate(texts):
        database.query("CREATE doc SET number = $number, body = $body", {"number": number, "body": text})
    for tokenizers in ("class", "blank, punct", "blank"):
        database.query(f"DEFINE ANALYZER OVERWRITE words TOKENIZERS {tokenizers} FILTERS lowercase, snowball(english)")
        database.query("DEFINE INDEX OVERWRITE texts ON doc FIELDS body SEARCH ANALYZER words BM25")
        print(f"{tokenizers}: " + " ".join(database.query("RETURN search::analyze('words', 'Is it a forest?')")))
        for query in queries:
            found = database.query("SELECT number FROM doc WHERE body @@ $query", {"query": query})
            numbers = sorted(row["number"] for row in found)
            print(f"    {query}: " + (" | ".join(texts[number] for number in numbers) or "nothing"))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
