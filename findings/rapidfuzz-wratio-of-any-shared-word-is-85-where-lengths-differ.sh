#!/usr/bin/env bash
# Guess: a text that shares less with the query, or has more words of its own, has a lower WRatio.
# Behaviour: in RapidFuzz 3.14.6, as soon as one text is one and a half times as long as the other, WRatio takes
# partial measures, too, and the partial ratio of two sets of words is 100 where they share a single word: any shared
# word gives 85.5, "the" as well, however much more follows. For "the oak tree", "the bed" is better than "oak trees".
# Why it matters: WRatio is the default scorer of process.extract; as a feature, or a filter of candidates, it prefers
# long and short texts with one common word to close ones.
# Source: rapidfuzz, fuzz_py.py (WRatio: partial_token_ratio times 0.95 times 0.9 up to eight times the length).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    rapidfuzz==3.14.6

expected='oak trees: WRatio 76.2, ratio 76.2
an oaken tree: WRatio 72.0, ratio 72.0
the bed: WRatio 85.5, ratio 52.6
the old bed, chair and table: WRatio 85.5, ratio 45.0'

observed=$("$folder/venv/bin/python" - <<'EOF'
from rapidfuzz import fuzz

for text in ("oak trees", "an oaken tree", "the bed", "the old bed, chair and table"):
    print(f"{text}: WRatio {fuzz.WRatio('the oak tree', text):.1f}, ratio {fuzz.ratio('the oak tree', text):.1f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
