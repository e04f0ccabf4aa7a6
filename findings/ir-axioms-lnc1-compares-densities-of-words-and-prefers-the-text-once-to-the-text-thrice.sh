#!/usr/bin/env bash
# Guess: the axiom LNC1 of ir_axioms prefers the shorter of two documents that have the words of the query equally
# often, as it was stated (Fang, Tao and Zhai 2004: equal counts, and d2 has one other word more).
# Behaviour: ir_axioms 1.2.5 asks whether count / length is equal to 10 %. A document with the same counts and one, or
# three, other words more is no pair for it: it has no preference. A pair are a text and the same text two or three
# times over, of which it prefers the single one, which is where LNC2 forbids a lower score of the repeated one.
# Why it matters: rankers are diagnosed and reranked by how often they agree with axioms: LNC1 is counted on other pairs
# than those of the axiom, and a ranker that follows the article is reported to break it.
# Source: ir_axioms, axiom/retrieval/length_norm.py (term_frequencies), tools/text_statistics/base.py (by the length).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    ir_axioms==1.2.5 numpy==1.26.4 spacy==3.8.18 nltk==3.10.4 injector==0.24.0

expected='wing flow before wing flow stone: 0
wing flow before wing flow stone river tree: 0
wing flow heat before wing flow heat wing flow heat: 1
wing flow before wing flow wing flow wing flow: 1'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from ir_axioms.axiom.retrieval.length_norm import Lnc1Axiom
from ir_axioms.model import Document, Query
from ir_axioms.tools.contents.simple import SimpleTextContents
from ir_axioms.tools.text_statistics.simple import SimpleTextStatistics


class Spaces:
    """Words between spaces, in place of a model of spaCy."""

    def terms_unordered(self, text):
        return text.split()

    def unique_terms(self, text):
        return set(text.split())


contents, words = SimpleTextContents(), Spaces()
statistics = SimpleTextStatistics(text_contents=contents, term_tokenizer=words)
axiom = Lnc1Axiom(text_contents=contents, term_tokenizer=words, text_statistics=statistics)
query = Query(id="q", text="wing flow")
pairs = (
    ("wing flow", "wing flow stone"),
    ("wing flow", "wing flow stone river tree"),
    ("wing flow heat", "wing flow heat wing flow heat"),
    ("wing flow", "wing flow wing flow wing flow"),
)
for shorter, longer in pairs:
    preference = axiom.preference(query, Document(id="1", text=shorter), Document(id="2", text=longer))
    print(f"{shorter} before {longer}: {preference:.0f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
