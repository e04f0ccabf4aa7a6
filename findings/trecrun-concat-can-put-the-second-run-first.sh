#!/usr/bin/env bash
# Guess: first.concat(second) puts what only the second run found below all of the first, whatever the scores are.
# Behaviour: trecrun 0.4.4 lowers the scores of the second run by their own range and does not look at those of the
# first. Where the first run has logarithms of probabilities, or any scores below the range of the second, the second
# run comes out on top; queries that only the second run has are dropped.
# Why it matters: to fill a short list of a reranker with the candidates of BM25 is what concatenation is for; here the
# list is replaced, and the file that is written has the ranks of the wrong order.
# Source: trecrun/__init__.py (TRECRun.concat: score - mx + mn - 1e-3, both of other).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    trecrun==0.4.4

expected='scores about 30: a b c d  queries: q1
scores below 0: c d a b  queries: q1'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from trecrun import TRECRun

reranked = TRECRun({"q1": {"a": -0.1, "b": -2.3}})
higher = TRECRun({"q1": {"a": 31.0, "b": 29.0}})
candidates = TRECRun({"q1": {"c": 14.0, "d": 13.0, "a": 12.5}, "q2": {"e": 11.0}})
for name, run in (("scores about 30", higher), ("scores below 0", reranked)):
    merged = run.concat(candidates)
    order = sorted(merged["q1"], key=merged["q1"].get, reverse=True)
    print(f"{name}:", " ".join(order), " queries:", " ".join(sorted(merged.qids())))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
