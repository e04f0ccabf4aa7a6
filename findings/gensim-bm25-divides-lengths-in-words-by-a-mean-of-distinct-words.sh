#!/usr/bin/env bash
# Guess: in gensim's BM25, a document of mean length has the score that it has without a normalisation of length (b =
# 0).
# Behaviour: gensim 4.4.0 (OkapiBM25Model, LuceneBM25Model, AtireBM25Model) counts a document's words with their
# repetitions, but for the mean it counts each word of a document once where it is made of a corpus. With repetitions,
# every document is then longer than the mean. Made of a Dictionary, the same model has the mean of the words.
# Why it matters: scores and order depend on whether corpus= or dictionary= was given; frequent words lose more than b
# says, the more so the longer and the more repetitive the documents are.
# Source: gensim, models/bm25model.py (BM25ABC.__init__: num_tokens += len(bow); __getitem__: the sum of the
# frequencies).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    gensim==4.4.0 numpy==2.4.6 scipy==1.17.1 smart-open==7.5.0

expected='words of a document, mean: 4.0
of corpus: mean 2.00; shock in the document of 4 words 0.424, without b 0.560
of dictionary: mean 4.00; shock in the document of 4 words 0.560, without b 0.560'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from gensim.corpora import Dictionary
from gensim.models import LuceneBM25Model

documents = [["heat", "flow"], ["heat", "heat", "heat", "heat", "heat", "wing"], ["wing", "wing", "shock", "shock"]]
dictionary = Dictionary(documents)
corpus = [dictionary.doc2bow(document) for document in documents]
print("words of a document, mean:", sum(map(len, documents)) / 3)
for name, given in (("corpus", {"corpus": corpus}), ("dictionary", {"dictionary": dictionary})):
    model = LuceneBM25Model(**given)
    flat = LuceneBM25Model(**given, b=0.0)
    shock = [dict(each[corpus[2]])[dictionary.token2id["shock"]] for each in (model, flat)]
    print(f"of {name}: mean {model.avgdl:.2f}; shock in the document of 4 words {shock[0]:.3f}, without b {shock[1]:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
