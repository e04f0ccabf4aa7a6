#!/usr/bin/env bash
# Guess: DisjunctionMax of a word in two fields scores a document by the better of its own two fields.
# Behaviour: in Whoosh 2.7.4 and Whoosh-Reloaded 2.7.5 it is the better of the two fields' *next* documents, which need
# not be the same one. A document with the word in its title alone has the score that another document's body earns, and
# so have all documents before that one: here three documents of 1.31 to 1.91 are tied at 1.91.
# Why it matters: ranking over title and body is mostly ties in the order of indexing, and a document is lifted by one
# that was indexed later.
# Source: whoosh/matching/binary.py: DisjunctionMaxMatcher.score compares a.score() and b.score() without their ids, as
# UnionMatcher.score does.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/reloaded"
"$work/reloaded/bin/pip" install -q --disable-pip-version-check Whoosh-Reloaded==2.7.5 cached-property==2.0.1
"${PYTHON:-python3}" -m venv "$work/original"
"$work/original/bin/pip" install -q --disable-pip-version-check Whoosh==2.7.4
cd "$work"
cat > search.py <<'PYTHON'
from whoosh.fields import ID, TEXT, Schema
from whoosh.filedb.filestore import RamStorage
from whoosh.query import DisjunctionMax, Or, Term

index = RamStorage().create_index(Schema(id=ID(stored=True), title=TEXT, body=TEXT))
writer = index.writer()
documents = [("heat", "flow"), ("heat heat", "water"), ("tube", "heat heat heat"), ("heat", "heat"), ("wing", "drag")]
for number, (title, body) in enumerate(documents, 1):
    writer.add_document(id=str(number), title=title, body=body)
writer.commit()
title, body = Term("title", "heat"), Term("body", "heat")
with index.searcher() as searcher:
    queries = {"title": title, "body": body, "sum": Or([title, body]), "best": DisjunctionMax([title, body])}
    for name, query in queries.items():
        scores = {hit["id"]: hit.score for hit in searcher.search(query, limit=None)}
        print(f"{name}:", ", ".join(f"{doc} {scores[doc]:.2f}" for doc in sorted(scores)))
PYTHON
cat > expected <<'TEXT'
title: 1 1.31, 2 1.42, 4 1.31
body: 3 1.91, 4 1.71
sum: 1 1.31, 2 1.42, 3 1.91, 4 3.02
best: 1 1.91, 2 1.91, 3 1.91, 4 1.71
TEXT
for version in original reloaded; do
    echo "$version"
    "$version/bin/python" -W ignore search.py > observed
    cat observed
    diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
done
