#!/usr/bin/env bash
# Guess: TfIdf of py_stringmatching, whose corpus is optional, is without one the cosine of the counts of words: high
# where two titles share most words. With a corpus, a word that it lacks is rare and counts the most.
# Behaviour: in py_stringmatching 0.4.7 the corpus is by default the two texts themselves, so that each word that they
# share is in all documents and has a weight of log 1. Any two texts that are not equal have 0.00. With a corpus,
# words that it lacks have no weight: two texts that differ by such words alone have 1.00. The soft variant, which by
# its definition differs by near words only, has .65 without a corpus where this has 0.
# Why it matters: near duplicates are found by this measure. Without a corpus there are none, with a corpus of last
# year every title that adds a new name is a duplicate of the one without it.
# Source: py_stringmatching, similarity_measure/tfidf.py (get_raw_score: corpus_list None is [bag1, bag2]; element
# must be in df).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    py-stringmatching==0.4.7 numpy==1.26.4 six==1.17.0

expected='lung cancer treatment guidelines / lung cancer treatment guidelines:
    TfIdf 1.00, with a corpus 1.00, SoftTfIdf 1.00
lung cancer treatment guidelines / lung cancer treatment:
    TfIdf 0.00, with a corpus 0.75, SoftTfIdf 0.65
lung cancer treatment / lung cancer osimertinib treatment:
    TfIdf 0.00, with a corpus 1.00, SoftTfIdf 0.65
lung cancer gefitinib treatment / lung cancer osimertinib treatment:
    TfIdf 0.00, with a corpus 1.00, SoftTfIdf 0.86'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from py_stringmatching import SoftTfIdf, TfIdf

pairs = (
    ("lung cancer treatment guidelines", "lung cancer treatment guidelines"),
    ("lung cancer treatment guidelines", "lung cancer treatment"),
    ("lung cancer treatment", "lung cancer osimertinib treatment"),
    ("lung cancer gefitinib treatment", "lung cancer osimertinib treatment"),
)
corpus = [text.split() for text in ("lung cancer treatment", "breast cancer", "heart disease treatment guidelines")]
for first, second in pairs:
    words = first.split(), second.split()
    print(f"{first} / {second}:")
    print(f"    TfIdf {TfIdf().get_raw_score(*words):.2f}, with a corpus {TfIdf(corpus).get_raw_score(*words):.2f}, "
          f"SoftTfIdf {SoftTfIdf().get_raw_score(*words):.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
