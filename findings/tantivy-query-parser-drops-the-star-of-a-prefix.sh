#!/usr/bin/env bash
# Guess: univers* in a query of Tantivy finds the words that begin so, or raises an error.
# Behaviour: tantivy 0.27.0 (the Python package) drops the star, and looks for the word univers; a question mark in a
# word makes a phrase of two words. Only the last word of a phrase is a prefix, with the star after the quotes ("oak
# univers"*), and such a match has a score of 1, whatever the word. A single word in quotes with a star raises an error.
# Why it matters: Lucene, PostgreSQL and SQLite FTS5 have prefixes, and Tantivy's syntax looks like Lucene's. Searches
# as one types find nothing until the word is complete, and oak* is an exact match that looks right.
# Source: Tantivy, query-grammar, query_grammar.rs (a star makes a prefix after a phrase only; the tokenizer drops it).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tantivy==0.27.0

expected='univers*: nothing
univer?al: nothing
oak*: oak 0.41, oak university 0.31, universal oak 0.31
"oak univers"*: oak university 1.00
"univers"*: ValueError'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import tantivy

schema = tantivy.SchemaBuilder().add_text_field("text", stored=True).build()
index = tantivy.Index(schema)
writer = index.writer(heap_size=15_000_000, num_threads=1)
for text in ("oak university", "universal oak", "oak", "oaken"):
    writer.add_document(tantivy.Document(text=text))
writer.commit()
index.reload()
searcher = index.searcher()
for query in ("univers*", "univer?al", "oak*", '"oak univers"*', '"univers"*'):
    try:
        hits = searcher.search(index.parse_query(query, ["text"]), 10).hits
        found = [f"{searcher.doc(address)['text'][0]} {score:.2f}" for score, address in hits]
    except ValueError:
        found = ["ValueError"]
    print(f"{query}:", ", ".join(found) or "nothing")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
