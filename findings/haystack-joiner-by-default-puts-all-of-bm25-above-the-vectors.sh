#!/usr/bin/env bash
# Guess: DocumentJoiner of Haystack, with its defaults, puts one list behind the other, as join_mode="concatenate" says,
# or mixes them fairly.
# Behaviour: in Haystack 3.4.1 it takes each document once, with the higher of its scores, and sorts all by score, as
# the scores are (sort_by_score=True): of vectors, with cosines up to 1, and BM25 the whole list of BM25 comes first,
# down to its last document above 1, whichever list was given first. "merge" adds the same scores with weights, and has
# the same order; reciprocal_rank_fusion does not look at scores.
# Why it matters: a hybrid pipeline of two retrievers and a joiner is BM25 with vectors behind, and the first ten, or
# the prompt, have no document of the vectors; with scale_score=True of both retrievers it is another order again.
# Source: haystack, components/joiners/document_joiner.py (_concatenate, run).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check haystack-ai==3.4.1 numpy==2.3.5

expected='default: b1 b2 both b4 v1 v3
merge: b1 b2 both b4 v1 v3
reciprocal_rank_fusion: both v1 b1 b2 v3 b4'

cd "$folder"
export HAYSTACK_TELEMETRY_ENABLED=False
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from haystack import Document
from haystack.components.joiners import DocumentJoiner


def documents(**scores):
    return [Document(content=name, id=name, score=score) for name, score in scores.items()]


vectors = documents(v1=0.95, both=0.90, v3=0.80)
bm25 = documents(b1=12.0, b2=9.0, both=8.0, b4=1.2)
for options in ({}, {"join_mode": "merge"}, {"join_mode": "reciprocal_rank_fusion"}):
    found = DocumentJoiner(**options).run(documents=[vectors, bm25])["documents"]
    print(options.get("join_mode", "default") + ":", *(document.id for document in found))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
