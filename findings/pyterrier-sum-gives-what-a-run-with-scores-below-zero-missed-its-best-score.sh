#!/usr/bin/env bash
# Guess: first + second of PyTerrier adds up scores; a document that one of them did not find has at most the lowest
# score that the other gave.
# Behaviour: in pyterrier 1.1.2 a missing document counts 0. Where scores are below zero, log probabilities of query
# likelihood or logits of a cross-encoder, 0 is above all of them: a document that the second did not find stands above
# the one that is first in both. With 20 added to the same scores the order is the other way round.
# Why it matters: a sum of BM25 and a language model, a usual pipeline, fills its top with documents that the model left
# out; the shorter its list, the better they do. A constant, which changes no run by itself, changes the sum.
# Source: PyTerrier, pyterrier/_ops.py (Sum: missing scores become 0).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyterrier==1.1.2

expected='bm25: both 9 bm25 7 third 5
bm25 + model: bm25 7 both 1 third -4
bm25 + model with 20 added: both 21 third 16 bm25 7'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import pandas as pd
import pyterrier


def run(**scores):
    rows = sorted(scores.items(), key=lambda row: -row[1])
    rows = [(str(1), "oak", name, float(score), rank) for rank, (name, score) in enumerate(rows)]
    return pyterrier.Transformer.from_df(pd.DataFrame(rows, columns=["qid", "query", "docno", "score", "rank"]))


topics = pd.DataFrame([("1", "oak")], columns=["qid", "query"])
bm25 = run(both=9, bm25=7, third=5)
model = run(both=-8, third=-9)
added = run(both=12, third=11)
for name, pipeline in (("bm25", bm25), ("bm25 + model", bm25 + model), ("bm25 + model with 20 added", bm25 + added)):
    found = pipeline(topics).sort_values("rank")
    print(f"{name}:", *(f"{row.docno} {row.score:g}" for row in found.itertuples()))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
