#!/usr/bin/env bash
# Guess: neologdn, which normalises Japanese text before search (widths, hyphens, repeated marks), changes how a text
# is written and not its numbers; words that are set apart by a space stay so.
# Behaviour: normalize of neologdn 0.5.6 by default removes each tilde, the mark of ranges: 3~5 days is 35 days, 10 to
# 20 yen 1020 yen, from Tokyo to Osaka one name. It removes spaces between Japanese words and beside them, of which
# queries consist: hotel and New York are one run, and "Algorithm C" in katakana becomes one word. tilde="normalize"
# keeps the tilde; no option keeps the spaces.
# Why it matters: prices, ages and doses become other numbers in the index and in the passage that is shown. Where the
# segmenter parts the joined run in other places than in the texts, the query finds nothing.
# Source: neologdn, README (its options: tilde, by default removed) and neologdn_impl.cc.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    neologdn==0.5.6

expected='送料は3~5日: 送料は35日, tilde kept: 送料は3~5日
10〜20円: 1020円, tilde kept: 10~20円
東京～大阪: 東京大阪, tilde kept: 東京~大阪
ニューヨーク ホテル: ニューヨークホテル, tilde kept: ニューヨークホテル
アルゴリズム C: アルゴリズムC, tilde kept: アルゴリズムC
検索 エンジン 入門: 検索エンジン入門, tilde kept: 検索エンジン入門
New York hotel: New York hotel, tilde kept: New York hotel'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from neologdn import normalize

texts = (
    "送料は3~5日",
    "10〜20円",
    "東京～大阪",
    "ニューヨーク ホテル",
    "アルゴリズム C",
    "検索 エンジン 入門",
    "New York hotel",
)
for text in texts:
    print(f"{text}: {normalize(text)}, tilde kept: {normalize(text, tilde='normalize')}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
