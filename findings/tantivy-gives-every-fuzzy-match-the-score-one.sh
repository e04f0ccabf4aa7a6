#!/usr/bin/env bash
# Guess: tantivy ranks the matches of a fuzzy or regular expression query by BM25, words that differ less above
# others, as Lucene does for fuzzy queries.
# Behaviour: in tantivy 0.27.0 (Python) the score of each match is 1.0, whatever the word, its distance, its frequency
# and the length of the document. The order is that of the documents in the index.
# Why it matters: the first 10 of a search that allows for typing errors are the first 10 of the index; in a sum with
# other clauses, a rare and exact word counts no more than a common and wrong one.
# Source: tantivy, src/query/fuzzy_query.rs and automaton_weight.rs (ConstScorer).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    tantivy==0.27.0

expected='heat: 1.376 heat heat
heat: 0.940 heat and stone
heat, distance 1: 1.000 heap of a long text of stone and clay
heat, distance 1: 1.000 heap
heat, distance 1: 1.000 heat and stone
heat, distance 1: 1.000 heat heat
hea.: 1.000 heap of a long text of stone and clay
hea.: 1.000 heap
hea.: 1.000 heat and stone
hea.: 1.000 heat heat'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import tantivy

builder = tantivy.SchemaBuilder()
builder.add_text_field("text", stored=True)
schema = builder.build()
index = tantivy.Index(schema)
writer = index.writer(num_threads=1)
texts = ("heap of a long text of stone and clay", "heap", "heat and stone", "heat heat", "stone and clay")
for text in texts:
    writer.add_document(tantivy.Document(text=[text]))
writer.commit()
index.reload()
searcher = index.searcher()
queries = {
    "heat": index.parse_query("heat", ["text"]),
    "heat, distance 1": tantivy.Query.fuzzy_term_query(schema, "text", "heat", 1),
    "hea.": tantivy.Query.regex_query(schema, "text", "hea."),
}
for name, query in queries.items():
    for score, address in searcher.search(query, 10).hits:
        text = searcher.doc(address)["text"][0]
        print(f"{name}: {score:.3f} {text}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
