#!/usr/bin/env bash
# Guess: a word that is twice in a query counts twice, as in BM25 and in Lucene's parser.
# Behaviour: the parser of tantivy 0.27.0 (for Python) keeps each word once: `heat heat heat flow` has the scores and
# the order of `heat flow`. A boolean query of the same four terms, made by hand, counts each.
# Why it matters: where the query is a text (a claim, an argument, a document whose neighbours are sought), BM25's
# weight of a word in the query is lost, and orders differ from Lucene, Anserini, rank_bm25 and bm25s.
# Source: https://github.com/quickwit-oss/tantivy/pull/2698 ("deduplicate queries"), which calls `a a a` equal to `a`: the
# documents are, the scores are not.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check tantivy==0.27.0
cd "$work"
venv/bin/python - > observed <<'PYTHON'
import tantivy

builder = tantivy.SchemaBuilder()
builder.add_text_field("id", stored=True, tokenizer_name="raw")
builder.add_text_field("body")
schema = builder.build()
index = tantivy.Index(schema)
writer = index.writer(num_threads=1)
for number, body in enumerate(("heat flow tube", "heat water", "flow flow flow", "wing lift", "wing drag"), 1):
    writer.add_document(tantivy.Document(id=str(number), body=body))
writer.commit()
writer.wait_merging_threads()
index.reload()
searcher = index.searcher()


def found(query):
    return " ".join(f"{searcher.doc(doc)['id'][0]} {score:.2f} " for score, doc in searcher.search(query).hits).strip()


for text in ("heat flow", "heat heat heat flow"):
    query = index.parse_query(text, ["body"])
    print(f"{text}: {str(query).count('TermQuery')} clauses: {found(query)}")
terms = [tantivy.Query.term_query(schema, "body", word) for word in "heat heat heat flow".split()]
print("by hand:", found(tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])))
PYTHON
cat > expected <<'TEXT'
heat flow: 2 clauses: 1 1.59  3 1.31  2 0.94
heat heat heat flow: 2 clauses: 1 1.59  3 1.31  2 0.94
by hand: 1 3.18  2 2.82  3 1.31
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
