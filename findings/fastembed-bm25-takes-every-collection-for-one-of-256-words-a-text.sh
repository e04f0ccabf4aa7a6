#!/usr/bin/env bash
# Guess: BM25 needs the mean length of the collection: it is computed, or the sparse vectors of documents leave the
# lengths to the index.
# Behaviour: Bm25 of fastembed 0.9.1, the sparse model of Qdrant's hybrid search, divides the length of each text by 256
# unless avg_len is given. In a collection of short texts (a mean of 18.5 words here) lengths hardly count: a text of
# ten words has 2 % less than one of a single word, and two mentions among sixty words are above all of them; with
# avg_len=18.5 that text is the last, with about half of the score of the first. A repeated query word counts once.
# Why it matters: titles, products, tweets and chunks of a few sentences are ranked as if b were near zero; gains over
# BM25, or of the hybrid, are measured against that.
# Source: fastembed, sparse/bm25.py (avg_len=256.0), its docstring.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check fastembed==0.9.1 numpy==2.4.6

expected='mean words: 18.5
default: sixty 1.75, one 1.69, three 1.68, ten 1.65
avg_len=18.5: one 1.63, three 1.52, ten 1.23, sixty 0.84
forest forest: True'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from pathlib import Path

from fastembed.sparse.bm25 import Bm25

# The files of the model are lists of stop words; none of them is needed here.
Path("model").mkdir()
Path("model/english.txt").write_text("the\n")


def fill(count):
    return " ".join(f"word{number}" for number in range(count))


texts = {"one": "forest", "three": f"forest {fill(2)}", "ten": f"forest {fill(9)}"}
texts["sixty"] = f"forest {fill(29)} forest {fill(29)}"


def scores(query, **options):
    model = Bm25("Qdrant/bm25", specific_model_path="model", **options)
    (asked,) = model.query_embed(query)
    for name, text in texts.items():
        (vector,) = model.embed(text)
        weights = dict(zip(vector.indices.tolist(), vector.values.tolist()))
        pairs = zip(asked.indices.tolist(), asked.values.tolist())
        yield sum(weights.get(index, 0.0) * value for index, value in pairs), name


words = [len(text.split()) for text in texts.values()]
print("mean words:", sum(words) / len(words))
for name, options in (("default", {}), ("avg_len=18.5", {"avg_len": 18.5})):
    found = sorted(scores("forest", **options), reverse=True)
    print(f"{name}:", ", ".join(f"{text} {score:.2f}" for score, text in found))
print("forest forest:", list(scores("forest forest")) == list(scores("forest")))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
