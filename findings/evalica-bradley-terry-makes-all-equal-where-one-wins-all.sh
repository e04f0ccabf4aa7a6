#!/usr/bin/env bash
# Guess: where one system has won all its comparisons, the Bradley-Terry scores of Evalica put it first and leave the
# order of the others.
# Behaviour: in evalica 0.4.2 all scores are 0.000001 then, so that all systems are equal; and so it is where one has
# lost all. Its likelihood has no maximum, the iteration stops at its limit of 100, and nothing is raised. newman()
# keeps the order of the others where one loses all, but not where one wins all.
# Why it matters: one weak baseline that loses every comparison, as usual in arenas of rankers judged by a language
# model, takes the ranking from all others; intervals by bootstrap hold such samples where comparisons are few.
# Source: evalica, bradley_terry (scores, iterations and limit of its result).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    evalica==0.4.2 numpy==2.4.6 pandas==3.1.1 scipy==1.17.1

expected='a, b and c, bradley_terry: a 2.13, b 1, c 0.469
a, b and c, newman: a 2.13, b 1, c 0.469
and d, which loses all, bradley_terry: a 1e-06, b 1e-06, c 1e-06, d 1e-06
and d, which loses all, newman: a 2.75, b 1.29, c 0.607, d 1e-06
and d, which wins all, bradley_terry: a 1e-06, b 1e-06, c 1e-06, d 1e-06
and d, which wins all, newman: a 1e-06, b 1e-06, c 1e-06, d 1e-06'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from evalica import Winner, bradley_terry, newman

won, lost = Winner.X, Winner.Y
first, second = list("aaaabbbbcccc"), list("bbbbccccaaaa")
winners = [won, won, won, lost, won, won, won, lost, lost, lost, lost, won]
for name, more in (("a, b and c", []), ("and d, which loses all", 3 * [lost]), ("and d, which wins all", 3 * [won])):
    for rank in (bradley_terry, newman):
        result = rank(first + len(more) * ["d"], second + list("abc")[: len(more)], winners + more)
        scores = ", ".join(f"{system} {score:.3g}" for system, score in sorted(result.scores.items()))
        print(f"{name}, {rank.__name__}: {scores}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
