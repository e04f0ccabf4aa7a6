#!/usr/bin/env bash
# Guess: create_dataset of ir_datasets, for files of one's own, reads the file of documents that is given; docs_iter
# reads it from its start each time, and docs_store builds a new index where the file is another one.
# Behaviour: in ir_datasets 0.6.3 the first docs_store writes a folder beside the file, NAME.pklz4. From then on the
# file is not read: docs_iter and docs_count of a new process return the old documents, texts as well as ids, after the
# file has been written anew, and a lookup of a new document is a KeyError. Queries and judgements are read anew.
# Removing the folder helps.
# Why it matters: cleaned or added documents are indexed, reranked and evaluated as they were before, once anything (a
# reranker that fetches texts) has looked up a document.
# Source: ir_datasets, formats/tsv.py (docs_store with path + ".pklz4"), indices/lz4_pickle.py (built where there is
# none), util/__init__.py (use_docstore: documents are those of the store where it is built).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ir-datasets==0.6.3 numpy==1.26.4

expected='first file: documents 1 oak; queries first
second file, with a lookup: documents 1 elm; queries second
    lookup of 1: elm
    lookup of 2: KeyError doc_id=2 not found
third file: documents 1 elm; queries third
    lookup of 1: elm
    lookup of 2: KeyError doc_id=2 not found
third file, folder removed: documents 1 ash, 2 yew; queries third
    lookup of 1: ash
    lookup of 2: yew'

cd "$folder"
run() {
    HOME="$folder" "$folder/venv/bin/python" -W ignore - "$@" 2>> "$folder/log" <<'EOF'
import sys

import ir_datasets

name, *uses = sys.argv[1:]
dataset = ir_datasets.create_dataset(docs_tsv="docs.tsv", queries_tsv="queries.tsv")
docs = ", ".join(f"{doc.doc_id} {doc.text}" for doc in dataset.docs_iter())
queries = ", ".join(query.text for query in dataset.queries_iter())
print(f"{name}: documents {docs}; queries {queries}")
if "store" in uses:
    store = dataset.docs_store()
    for doc_id in ("1", "2"):
        try:
            print(f"    lookup of {doc_id}: {store.get(doc_id).text}")
        except KeyError as error:
            print(f"    lookup of {doc_id}: KeyError {error}".replace("'", ""))
EOF
}
observed=$(
    write() {
        printf "$1" > docs.tsv
        printf "$2" > queries.tsv
    }
    write '1\toak\n' '1\tfirst\n'
    run "first file"
    write '1\telm\n' '1\tsecond\n'
    run "second file, with a lookup" store
    write '1\tash\n2\tyew\n' '1\tthird\n'
    run "third file" store
    rm -r docs.tsv.pklz4
    run "third file, folder removed" store
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
