#!/usr/bin/env bash
# Guess: ngram_range=(1, 2) of TfidfVectorizer and CountVectorizer adds pairs of words that stand side by side.
# Behaviour: in scikit-learn 1.9.1 pairs are made of what is left after stop words, words of one letter and all
# punctuation were dropped: "state of the art" has the pair "state art", and so has "a state. Art". "vitamin a
# deficiency" has "vitamin deficiency". No pair holds a stop word, and pairs pass over the ends of sentences.
# Why it matters: these features are taken for phrase matches: they also match where the words never met, and a query
# for a phrase with a stop word counts as if it had none.
# Source: sklearn/feature_extraction/text.py (_word_ngrams: stop words are filtered before n-grams; token_pattern).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-learn==1.9.1 numpy==1.26.4 scipy==1.12.0

expected='state of the art: state art
It is a state. Art is free.: state art, art free
vitamin a deficiency: vitamin deficiency
flow (cold) heat: flow cold, cold heat
documents that match the pair: [0, 1]'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from sklearn.feature_extraction.text import TfidfVectorizer

analyze = TfidfVectorizer(ngram_range=(2, 2), stop_words="english").build_analyzer()
for text in ("state of the art", "It is a state. Art is free.", "vitamin a deficiency", "flow (cold) heat"):
    print(f"{text}: {', '.join(analyze(text))}")
vectorizer = TfidfVectorizer(ngram_range=(2, 2), stop_words="english")
texts = ["We love the state of the art.", "They left the state. Art they love.", "We love stone and clay."]
scores = (vectorizer.fit_transform(texts) @ vectorizer.transform(["state of the art"]).T).toarray().ravel()
print("documents that match the pair:", [index for index, score in enumerate(scores) if score])
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
