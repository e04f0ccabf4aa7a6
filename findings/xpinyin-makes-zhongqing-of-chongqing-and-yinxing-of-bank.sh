#!/usr/bin/env bash
# Guess: xpinyin gives the pinyin of Chinese words, such as chongqing for Chongqing, from a table of words.
# Behaviour: xpinyin 0.7.7 gives each character its first reading, whatever the word: Chongqing is zhongqing, Xiamen
# shamen, Tibet xicang, bank yinxing, music yinle, an accountant huiji and air conditioning kongdiao. pypinyin 0.55.0,
# which has words, reads them as they are said.
# Why it matters: search in pinyin, completion and sorting of names are what it is used for. Who types what the word is
# called finds no Chongqing and no bank, and yinxing finds the bank beside ginkgo; the commonest words are hit.
# Source: xpinyin, README and Mandarin.dat (one line of readings for a character, the first is taken).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pypinyin==0.55.0 xpinyin==0.7.7

expected='xpinyin 0.7.7, pypinyin 0.55.0
Chongqing: zhongqing, chongqing
Xiamen: shamen, xiamen
Tibet: xicang, xizang
bank: yinxing, yinhang
music: yinle, yinyue
accountant: huiji, kuaiji
air conditioning: kongdiao, kongtiao
sleep: shuijue, shuijiao
or: huanshi, haishi
Beijing: beijing, beijing
China: zhongguo, zhongguo'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

from pypinyin import lazy_pinyin
from xpinyin import Pinyin

print(f"xpinyin {version('xpinyin')}, pypinyin {version('pypinyin')}")
words = {
    "Chongqing": "重庆",
    "Xiamen": "厦门",
    "Tibet": "西藏",
    "bank": "银行",
    "music": "音乐",
    "accountant": "会计",
    "air conditioning": "空调",
    "sleep": "睡觉",
    "or": "还是",
    "Beijing": "北京",
    "China": "中国",
}
for meaning, word in words.items():
    print(f"{meaning}: {Pinyin().get_pinyin(word, '')}, {''.join(lazy_pinyin(word))}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
