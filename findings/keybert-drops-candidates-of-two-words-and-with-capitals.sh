#!/usr/bin/env bash
# Guess: extract_keywords of KeyBERT with candidates ranks those of the candidates that the text holds, be they one
# word or more.
# Behaviour: keybert 0.9.0 counts the candidates with the vectorizer of its keywords, which takes one word by default.
# "machine learning" and "new york" are never returned, though the text has them, unless keyphrase_ngram_range is given
# too; capitals ("Paris") and marks ("c++", "covid-19") are in no case. Those that are left are ranked as if all were.
# Why it matters: candidates are a thesaurus or the tags of a site, most of them of two words or with capitals. What is
# returned are the single words of it, and it looks as if the model did not think of the others.
# Source: keybert, _model.py (CountVectorizer(ngram_range=..., vocabulary=candidates)).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    cloudpickle==3.1.3 joblib==1.6.0 keybert==0.9.0 markdown-it-py==4.3.0 mdurl==0.1.2 narwhals==2.29.0 numpy==2.4.6 \
    packaging==26.4 Pygments==2.21.0 rich==15.0.0 scikit-learn==1.9.1 scipy==1.17.1 threadpoolctl==3.8.0 \
    tqdm==4.70.1

expected='keybert 0.9.0
default: learning, paris
{keyphrase_ngram_range: (1, 2)}: learning, machine learning, new york, paris'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import warnings
from importlib.metadata import version

import numpy as np
from keybert import KeyBERT
from keybert.backend import BaseEmbedder

warnings.simplefilter("ignore")
print(f"keybert {version('keybert')}")


class Counts(BaseEmbedder):
    """Texts by the numbers of their letters, in place of a model that is downloaded."""

    def embed(self, documents, verbose=False):
        return np.array([[1 + text.lower().count(chr(code)) for code in range(97, 123)] for text in documents])


model = KeyBERT(model=Counts())
text = "Machine learning in New York and Paris, with C++, for covid-19. Learning is not easy."
candidates = ["machine learning", "new york", "Paris", "paris", "c++", "covid-19", "learning"]
for options in ({}, {"keyphrase_ngram_range": (1, 2)}):
    found = model.extract_keywords(text, candidates=candidates, **options)
    print(f"{options or 'default'}: ".replace("'", "") + ", ".join(sorted(word for word, _ in found)))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
