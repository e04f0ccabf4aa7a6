#!/usr/bin/env bash
# Guess: the index of gensim's SparseMatrixSimilarity ranks documents that LuceneBM25Model or OkapiBM25Model has
# weighted by BM25.
# Behaviour: in gensim 4.4.0 it divides each vector by its length first: what it ranks by is the cosine of the weights
# of BM25. A document of a rare word and three times the word of the query falls below one of common words with one.
# BM25 needs normalize_documents=False and normalize_queries=False.
# Why it matters: lengths are punished twice and rare words of a document lower it for queries that do not have them;
# figures of this BM25 are those of another model.
# Source: gensim, similarities/docsim.py (SparseMatrixSimilarity: normalize_documents=True, normalize_queries=True).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    gensim==4.4.0 numpy==1.26.4 scipy==1.12.0

expected='default, heat: heat clay wing 0.954; heat heat heat flow stone quasar 0.642; heat flow wing clay 0.593
default, heat flow: heat flow wing clay 0.973; heat heat heat flow stone quasar 0.772; heat clay wing 0.674
not normalised, heat: heat heat heat flow stone quasar 0.583; heat clay wing 0.440; heat flow wing clay 0.385
not normalised, heat flow: heat heat heat flow stone quasar 0.991; heat flow wing clay 0.894; heat clay wing 0.440'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from gensim.corpora import Dictionary
from gensim.models import LuceneBM25Model, TfidfModel
from gensim.similarities import SparseMatrixSimilarity

texts = ["heat heat heat flow stone quasar", "heat clay wing", "heat flow wing clay", "stone clay wing", "stone wing"]
texts += 4 * ["clay wing stone"]
dictionary = Dictionary([text.split() for text in texts])
bags = [dictionary.doc2bow(text.split()) for text in texts]
weights = LuceneBM25Model(dictionary=dictionary)[bags]
binary = TfidfModel(dictionary=dictionary, smartirs="bnn")
raw = {"normalize_documents": False, "normalize_queries": False}
for name, options in (("default", {}), ("not normalised", raw)):
    index = SparseMatrixSimilarity(weights, num_docs=len(bags), num_terms=len(dictionary), **options)
    for query in ("heat", "heat flow"):
        scores = index[binary[dictionary.doc2bow(query.split())]]
        order = sorted(range(3), key=lambda row: -scores[row])
        print(f"{name}, {query}: {'; '.join(f'{texts[row]} {scores[row]:.3f}' for row in order)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
