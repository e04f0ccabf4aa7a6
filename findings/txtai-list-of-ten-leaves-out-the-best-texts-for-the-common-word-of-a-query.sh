#!/usr/bin/env bash
# Guess: the BM25 of txtai returns the texts with the highest scores: the first ten of a list of a thousand are the list
# of ten.
# Behaviour: txtai 9.0.0 scores the words that a tenth of the texts or fewer have, takes the best five times as many as
# were asked for, and adds the other words to those. Where fewer texts have a rare word of the query, the places are
# filled with any texts, whose score is still zero then: of the texts with the common word some are there and others
# are not, whatever their score. The text with the common word four times, third in a list of a thousand, is in no list
# of ten; texts with half of its score are. Of a query of common words alone the list is right.
# Why it matters: the rare word of a query is often in fewer texts than are asked for. Recall and the order change with
# the limit, a fusion that asks for more gets another head, and a test of a few texts never shows it.
# Source: txtai, scoring/terms.py (search, topn: candidates of the partial scores, cutoff 0.1).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    txtai==9.0.0 transformers==5.24.0 torch==2.13.0 numpy==1.26.4

expected='lake, limit 10: 10 texts, rank of the text with lake four times: 1
    score at rank 3: 0.69, at rank 4: 0.69
lake, limit 20: 20 texts, rank of the text with lake four times: 1
    score at rank 3: 0.69, at rank 4: 0.69
lake, limit 1000: 202 texts, rank of the text with lake four times: 1
    score at rank 3: 0.69, at rank 4: 0.69
penguin lake, limit 10: 10 texts, rank of the text with lake four times: none
    score at rank 3: 0.69, at rank 4: 0.69
penguin lake, limit 20: 20 texts, rank of the text with lake four times: none
    score at rank 3: 0.69, at rank 4: 0.69
penguin lake, limit 1000: 203 texts, rank of the text with lake four times: 3
    score at rank 3: 0.93, at rank 4: 0.69'

cd "$folder"
observed=$(HF_HUB_OFFLINE=1 "$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from txtai.scoring import ScoringFactory

texts = [f"{'lake' if number % 2 else 'moon'} number{number}" for number in range(400)]
texts += ["lake lake lake lake moon", "penguin lake", "penguin moon"]
scoring = ScoringFactory.create({"method": "bm25", "terms": True})
scoring.index((number, text, None) for number, text in enumerate(texts))
for query in ("lake", "penguin lake"):
    for limit in (10, 20, 1000):
        found = scoring.search(query, limit)
        ranks = {texts[number]: rank for rank, (number, _) in enumerate(found, start=1)}
        best = ranks.get("lake lake lake lake moon", "none")
        print(f"{query}, limit {limit}: {len(found)} texts, rank of the text with lake four times: {best}")
        print(f"    score at rank 3: {found[2][1]:.2f}, at rank 4: {found[3][1]:.2f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
