#!/usr/bin/env bash
# Guess: mmr of pyversity balances relevance and diversity by its parameter, 0.5 by default, whatever engine the scores
# come from: its README passes the scores of a search.
# Behaviour: pyversity 0.2.0 subtracts similarities, up to 1, from the scores as they are. With scores of BM25 up
# to a diversity of 0.5 the five chosen are the first five of the ranking, four of them copies of one text. With those
# of reciprocal rank fusion, which are below 0.02, even a diversity of 0.1 takes five different texts, as 0.9 does.
# Scores from 0 to 1 move step by step. dpp, the default strategy, standardises the scores.
# Why it matters: who tries diversities from 0.1 to 0.9 with BM25 finds that diversification changes nothing, and with
# fused ranks that relevance does not matter. The two are compared in papers at the same value of the parameter.
# Source: pyversity, strategies/utils.py (greedy_select: lambda times scores less the rest times the similarity) and
# strategies/dpp.py (z-scores); README (scores).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==2.4.6 pyversity==0.2.0

expected='pyversity 0.2.0
mmr, scores from 0 to 1, diversity 0.1: texts A A A B A, ranks 1 2 3 5 4
mmr, scores from 0 to 1, diversity 0.5: texts A C B D A, ranks 1 9 5 13 2
mmr, scores from 0 to 1, diversity 0.7: texts A C D B E, ranks 1 9 13 5 17
mmr, scores from 0 to 1, diversity 0.9: texts A C D B E, ranks 1 9 13 6 17
mmr, BM25, diversity 0.1: texts A A A A B, ranks 1 2 3 4 5
mmr, BM25, diversity 0.5: texts A A A A B, ranks 1 2 3 4 5
mmr, BM25, diversity 0.7: texts A A B A A, ranks 1 2 5 3 4
mmr, BM25, diversity 0.9: texts A B C D A, ranks 1 5 9 13 2
mmr, fused ranks, diversity 0.1: texts A C D B E, ranks 1 9 13 6 17
mmr, fused ranks, diversity 0.5: texts A C D E B, ranks 1 9 13 19 6
mmr, fused ranks, diversity 0.7: texts A C D E B, ranks 1 9 13 19 6
mmr, fused ranks, diversity 0.9: texts A C D E B, ranks 1 9 13 19 6
dpp, scores from 0 to 1, diversity 0.5: texts A B C D E, ranks 1 5 9 13 17
dpp, BM25, diversity 0.5: texts A B C D E, ranks 1 5 9 13 17
dpp, fused ranks, diversity 0.5: texts A B C D E, ranks 1 5 9 13 17'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

import numpy as np
from pyversity import Strategy, diversify

print(f"pyversity {version('pyversity')}")
generator = np.random.default_rng(0)
# Five texts, each in four copies that follow each other in the ranking.
vectors = np.repeat(generator.normal(size=(5, 16)), 4, axis=0) + generator.normal(size=(20, 16)) * 0.01
scores = {
    "scores from 0 to 1": np.linspace(1, 0, 20),
    "BM25": np.linspace(24, 9, 20),
    "fused ranks": 1 / (60 + np.arange(1, 21)),
}
for strategy, diversities in ((Strategy.MMR, (0.1, 0.5, 0.7, 0.9)), (Strategy.DPP, (0.5,))):
    for name, values in scores.items():
        for diversity in diversities:
            chosen = diversify(vectors, values, k=5, strategy=strategy, diversity=diversity).indices
            texts = " ".join("ABCDE"[number // 4] for number in chosen)
            ranks = " ".join(map(str, chosen + 1))
            print(f"{strategy.value}, {name}, diversity {diversity}: texts {texts}, ranks {ranks}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
