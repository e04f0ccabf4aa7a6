#!/usr/bin/env bash
# Guess: BM25F of Whoosh, in pure Python and with the lengths of the fields in its index, has exact lengths of
# documents.
# Behaviour: Whoosh-Reloaded 2.7.5 keeps a length as one byte, as Lucene does but with steps of its own: documents of
# 90 to 111 words have 6 different scores, and tie where their lengths differ by up to 4 words. Lengths up to 10 are
# exact.
# Why it matters: scores are not those of the formula or of another library with the same k1 and b, short and long
# documents tie and keep the order of the index, and a comparison with rank_bm25 or Lucene differs by more than the
# idf.
# Source: whoosh, util/numeric.py (length_to_byte, byte_to_length), codec/whoosh3.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    whoosh-reloaded==2.7.5

expected='lengths 2 to 10: 9 scores of 9 documents
lengths 90 to 111: 6 scores of 22 documents
equal scores: 90 to 93, 94 to 97, 98 to 101, 102 to 106, 107 to 110, 111 to 111'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from whoosh.fields import ID, TEXT, Schema
from whoosh.filedb.filestore import RamStorage
from whoosh.qparser import QueryParser


def scores(lengths):
    index = RamStorage().create_index(Schema(name=ID(stored=True), text=TEXT))
    writer = index.writer()
    for length in lengths:
        writer.add_document(name=str(length), text="heat " + (length - 1) * "pump ")
    writer.commit()
    with index.searcher() as searcher:
        found = searcher.search(QueryParser("text", index.schema).parse("heat"), limit=None)
        return {int(hit["name"]): hit.score for hit in found}


for lengths in (range(2, 11), range(90, 112)):
    values = scores(lengths)
    print(f"lengths {lengths[0]} to {lengths[-1]}: {len(set(values.values()))} scores of {len(values)} documents")
groups = {}
for length, score in sorted(values.items()):
    groups.setdefault(score, []).append(length)
print("equal scores:", ", ".join(f"{group[0]} to {group[-1]}" for group in groups.values()))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
