#!/usr/bin/env bash
# Guess: `word.feature.lemma` of fugashi with UniDic is what a search should index: the written form of the word in the
# dictionary, and for a word that is not in it the word itself.
# Behaviour: with fugashi 1.5.2 and unidic-lite 1.0.8 the lemma of a name is its sound in katakana, so that 伊藤 and 伊東,
# or the prime minister 安倍 and the writer 安部, are one; the lemma of ホンダ and トヨタ is the family name 本田 and 豊田; that of a
# loan word has its origin behind a hyphen (ウイルス-virus); and that of a word which UniDic does not know is None: all of
# iPhone, COVID, スマホ and 19 have the same, and `str` makes "None" of them. `orthBase` has the written form, or None.
# Why it matters: a search by lemmas takes different people for one, has all unknown words in one posting list or loses
# them, and those are the products, names and numbers that are asked.
# Source: UniDic, the column lemma of names; fugashi, fugashi.pyx (unknown words have fewer fields).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    fugashi==1.5.2 unidic-lite==1.0.8

expected='伊藤: イトウ, 伊藤
伊東: イトウ, 伊東
安倍: アベ, 安倍
安部: アベ, 安部
ホンダ: 本田, ホンダ
本田: 本田, 本田
ウイルス: ウイルス-virus, ウイルス
iPhone: None, None
スマホ: None, None
19: None, None'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from fugashi import Tagger

tagger = Tagger()
for text in ("伊藤", "伊東", "安倍", "安部", "ホンダ", "本田", "ウイルス", "iPhone", "スマホ", "19"):
    (word,) = tagger(text)
    print(f"{text}: {word.feature.lemma}, {word.feature.orthBase}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
