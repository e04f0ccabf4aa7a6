#!/usr/bin/env bash
# Guess: a word of a document is found by a query for it, however long it is, or the index refuses it.
# Behaviour: the default tokenizer of tantivy 0.25.1 (and the one that stems English) leaves out words of 40 letters
# and more, of documents and of queries, without a word. A query of such a word alone is empty and finds nothing, next
# to others it is as if it were not there; a document's length does not count it.
# Why it matters: names of substances, genes, files and hashes are this long; the one word that tells documents apart
# is the one that is missing, and a comparison with Lucene, whose limit is 255 letters, sees other lists.
# Source: tantivy, src/tokenizer/tokenizer_manager.rs (RemoveLongFilter::limit(40)).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tantivy==0.25.1

expected='default: 25 letters, 1 hits, TermQuery
default: 45 letters, 0 hits, EmptyQuery
en_stem: 25 letters, 1 hits, TermQuery
en_stem: 45 letters, 0 hits, EmptyQuery'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import tantivy

WORDS = ["thyroparathyroidectomized", "pneumonoultramicroscopicsilicovolcanoconiosis"]
for tokenizer in ("default", "en_stem"):
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name=tokenizer)
    index = tantivy.Index(builder.build())
    writer = index.writer()
    for word in WORDS:
        writer.add_document(tantivy.Document(text=f"a case of {word}"))
    writer.commit()
    index.reload()
    for word in WORDS:
        query = index.parse_query(word, ["text"])
        hits = index.searcher().search(query, 10)
        print(f"{tokenizer}: {len(word)} letters, {hits.count} hits, {str(query)[6:].partition('(')[0].rstrip(')')}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
