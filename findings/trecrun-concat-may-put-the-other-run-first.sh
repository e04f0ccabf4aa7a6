#!/usr/bin/env bash
# Guess: appending a run to another puts its documents behind those that the first has, and keeps queries that only it
# has.
# Behaviour: trecrun 0.4.4 lowers the scores of the second run by the span of its own scores and .001, whatever the
# first run holds: where the second system scores higher (12 and 10 beside -1 and -2) its documents come first.
# Queries of the second run alone are left out.
# Why it matters: filling up a short run of a cross-encoder (negative scores) by BM25 turns the order over; figures
# are those of BM25, over fewer queries.
# Source: trecrun, trecrun/trecrun.py, TRECRun.concat.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check trecrun==0.4.4

expected='q c 9.999 d 7.999 a -1.000 b -2.000'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from trecrun import TRECRun

first = TRECRun({"q": {"a": -1.0, "b": -2.0}})
second = TRECRun({"q": {"c": 12.0, "d": 10.0}, "r": {"e": 1.0}})
joined = first.concat(second).results
for query, scores in joined.items():
    ranked = sorted(scores, key=scores.get, reverse=True)
    print(query, *(f"{document} {scores[document]:.3f}" for document in ranked))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
