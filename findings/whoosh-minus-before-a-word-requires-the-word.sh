#!/usr/bin/env bash
# Guess: oak -pine in Whoosh's query language finds the documents with oak and without pine, or raises an error.
# Behaviour: QueryParser of whoosh-reloaded 2.7.5 knows no minus, and drops it as a mark: the query is oak AND pine, so
# that it finds what should be excluded, and nothing else. A plus, a tilde (oak~) and the hyphen of wi-fi are dropped
# alike, and "not" in small letters is a stop word: oak not pine is oak AND pine, too. With OrGroup the documents
# to be excluded come first. PlusMinusPlugin, which is to be added, and SimpleParser know the signs.
# Why it matters: everybody types the minus. The result is not a little worse, but the complement, without a message.
# Source: whoosh-reloaded, qparser/default.py (QueryParser.default_plugins), docs/source/querylang.rst.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check whoosh-reloaded==2.7.5

expected='QueryParser, oak -pine: oak pine
QueryParser, oak NOT pine: oak, oak hill
QueryParser, oak not pine: oak pine
with OrGroup, oak -pine: oak pine, pine, oak, oak hill
with OrGroup, oak NOT pine: oak, oak hill, oak pine
with OrGroup, oak not pine: oak pine, pine, oak, oak hill
with PlusMinusPlugin, oak -pine: oak, oak hill
with PlusMinusPlugin, oak NOT pine: oak, oak hill
with PlusMinusPlugin, oak not pine: oak pine
SimpleParser, oak -pine: oak, oak hill
SimpleParser, oak NOT pine: oak pine, pine, oak, oak hill
SimpleParser, oak not pine: oak pine, pine, oak, oak hill'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from whoosh import fields
from whoosh.filedb.filestore import RamStorage
from whoosh.qparser import OrGroup, PlusMinusPlugin, QueryParser, SimpleParser

index = RamStorage().create_index(fields.Schema(text=fields.TEXT(stored=True)))
writer = index.writer()
for text in ("oak", "oak hill", "oak pine", "pine"):
    writer.add_document(text=text)
writer.commit()
with_signs = QueryParser("text", index.schema)
with_signs.add_plugin(PlusMinusPlugin())
parsers = {
    "QueryParser": QueryParser("text", index.schema),
    "with OrGroup": QueryParser("text", index.schema, group=OrGroup),
    "with PlusMinusPlugin": with_signs,
    "SimpleParser": SimpleParser("text", index.schema),
}
with index.searcher() as searcher:
    for name, parser in parsers.items():
        for query in ("oak -pine", "oak NOT pine", "oak not pine"):
            hits = searcher.search(parser.parse(query))
            print(f"{name}, {query}:", ", ".join(hit["text"] for hit in hits))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
