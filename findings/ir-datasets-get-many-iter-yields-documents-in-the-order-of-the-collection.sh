#!/usr/bin/env bash
# Guess: docs_store().get_many_iter(ids) yields the documents in the order of the ids that it is given, one for each,
# or fails where an id is unknown: it can be zipped with a ranking.
# Behaviour: in ir_datasets 0.6.3 they come in the order of the collection, and an id that the collection does not
# have is left out without a word. A ranking that is zipped with what comes back has other texts at nearly all ranks.
# get_many returns a dictionary in the same order.
# Why it matters: this is how texts of a run are fetched for a reranker or for prompts; scores then belong to other
# documents, the list has the right length and looks plausible. Only a lookup by doc_id is right.
# Source: ir_datasets, indices/lz4_pickle.py (get_many_iter sorts the positions in the file before it reads).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ir-datasets==0.6.3 numpy==1.26.4

expected='ranking: d7 d2 d9 missing d0
get_many_iter: d0 d2 d7 d9
get_many: d0 d2 d7 d9'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import os
from pathlib import Path

os.environ["IR_DATASETS_HOME"] = "irds"
import ir_datasets

Path("docs.tsv").write_text("".join(f"d{number}\ttext of d{number}\n" for number in range(10)))
store = ir_datasets.create_dataset(docs_tsv="docs.tsv").docs_store()
ranking = ["d7", "d2", "d9", "missing", "d0"]
print("ranking:", *ranking)
print("get_many_iter:", *(document.doc_id for document in store.get_many_iter(ranking)))
print("get_many:", *store.get_many(ranking))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
