#!/usr/bin/env bash
# Guess: bm25s.tokenize keeps every word that is no stopword, and with stopwords=None every word.
# Behaviour: in bm25s 0.3.16 a word has two letters or more: `vitamin C` and `5 G network` lose the word that tells
# them apart, in documents and queries, also with stopwords=None.
# Why it matters: codes, grades, vitamins and models of one letter or digit cannot be searched, and nothing says so:
# the query has the words that are left, and both documents score the same.
# Source: bm25s, tokenization.py (token_pattern, as in scikit-learn's vectorizers).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    bm25s==0.3.16 numpy==2.4.6 scipy==1.17.1

expected='vitamin vitamin network model
vitamin D: both vitamins alike'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import bm25s

texts = ["vitamin C", "vitamin D", "5 G network", "model T"]
found = bm25s.tokenize(texts, stopwords=None, show_progress=False, return_ids=False)
print(*("+".join(words) for words in found))
model = bm25s.BM25()
model.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
scores = model.get_scores(bm25s.tokenize("vitamin D", stopwords=None, show_progress=False, return_ids=False)[0])
print("vitamin D:", "both vitamins alike" if scores[0] == scores[1] > 0 else scores.tolist())
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
