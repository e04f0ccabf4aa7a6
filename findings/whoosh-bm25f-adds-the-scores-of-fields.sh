#!/usr/bin/env bash
# Guess: BM25F, Whoosh's default weighting, adds up a word's frequencies over the fields of a document and saturates the
# sum, as S. Robertson, H. Zaragoza and M. Taylor define it (CIKM 2004).
# Behaviour: in Whoosh 2.7.4 and Whoosh-Reloaded 2.7.5 it scores each field by BM25 with the field's own document
# frequency, and a query over several fields adds these scores. A word that is once in the title and once in the body
# scores more than one that is eight times in either.
# Why it matters: this is the linear combination of fields whose fault BM25F was made to repair; figures of "BM25F" from
# Whoosh are not comparable with those of Lucene's CombinedFieldQuery or of Terrier.
# Source: whoosh/scoring.py: BM25F.scorer returns a scorer of one field.
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
from whoosh.query import Or, Term
from whoosh.scoring import BM25F

index = RamStorage().create_index(Schema(id=ID(stored=True), title=TEXT, body=TEXT))
writer = index.writer()


def field(n_heat):
    return " ".join(["heat"] * n_heat + ["word"] * (8 - n_heat))


documents = {"both": (1, 1), "title": (8, 0), "body": (0, 8), "none": (0, 0)}
for name, (in_title, in_body) in documents.items():
    writer.add_document(id=name, title=field(in_title), body=field(in_body))
writer.commit()
title, body = Term("title", "heat"), Term("body", "heat")
with index.searcher(weighting=BM25F()) as searcher:
    for name, query in {"title": title, "body": body, "either": Or([title, body])}.items():
        scores = {hit["id"]: hit.score for hit in searcher.search(query, limit=None)}
        print(f"heat in {name}:", ", ".join(f"{doc} {scores[doc]:.2f}" for doc in sorted(scores)))
PYTHON
cat > expected <<'TEXT'
heat in title: both 1.29, title 2.46
heat in body: body 2.46, both 1.29
heat in either: body 2.46, both 2.58, title 2.46
TEXT
for version in original reloaded; do
    echo "$version"
    "$version/bin/python" -W ignore search.py > observed
    cat observed
    diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
done
