#!/usr/bin/env bash
# Guess: delete_documents(field, value) removes the documents whose field is that value, as an update by an id needs it.
# Behaviour: in tantivy 0.27.0 (Python) the value is one word of the index, as it is written, and a text field is split
# and put in lower case. With ids of the default kind, doc-1 and FT911-3 remove nothing, 1 removes doc-1 and all others
# with a 1 between marks, ft911 every document of that file. With tokenizer_name=raw each id removes its own document.
# Why it matters: an update is a deletion and an addition here: the old text stays beside the new one, and both are
# found under one id, which trec_eval takes for an error; with numbers for ids other documents are lost. Nothing is
# said, and no count is returned.
# Source: tantivy, IndexWriter.delete_term (the term is not analysed).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tantivy==0.27.0

expected='delete doc-1: None; raw: doc-1
delete 1: 1, doc-1; raw: 1
delete FT911-3: None; raw: FT911-3
delete ft911: FT911-3, ft911; raw: ft911'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import tantivy

IDS = ["doc-1", "doc-2", "1", "FT911-3", "ft911"]


def left(deleted, **options):
    schema = tantivy.SchemaBuilder().add_text_field("id", stored=True, **options).add_text_field("text").build()
    index = tantivy.Index(schema)
    writer = index.writer(15_000_000, 1)
    for name in IDS:
        writer.add_document(tantivy.Document(id=name, text="oak"))
    writer.commit()
    writer.delete_documents("id", deleted)
    writer.commit()
    index.reload()
    searcher = index.searcher()
    hits = searcher.search(index.parse_query("oak", ["text"]), 10).hits
    return {searcher.doc(address)["id"][0] for _, address in hits}


for deleted in ("doc-1", "1", "FT911-3", "ft911"):
    lost = set(IDS) - left(deleted)
    raw = set(IDS) - left(deleted, tokenizer_name="raw")
    print(f"delete {deleted}: {', '.join(sorted(lost)) or None}; raw: {', '.join(sorted(raw)) or None}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
