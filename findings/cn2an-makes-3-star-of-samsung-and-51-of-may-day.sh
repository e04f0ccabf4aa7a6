#!/usr/bin/env bash
# Guess: transform of cn2an turns the numerals of a Chinese text into digits where they are numbers: a hundred yuan,
# the first world war, the year 1984.
# Behaviour: cn2an 0.5.24 turns each character that can be a numeral. Samsung is 3 star, the Three Kingdoms and the
# city of Sanya begin with 3, together and uniform have a 1, Sichuan is 4 chuan, May Day is 51, one-to-one 11, Monday
# week 1, and the name Zhang San Zhang 3. A thousand and ten thousand alone stay.
# Why it matters: applied to texts and queries it joins what differs (May Day and 51), and parts words that the
# segmenter knows into a digit and a rest, so that names are found by their last character. Applied to one side alone
# they are not found.
# Source: cn2an, transform.py (patterns of numeral characters anywhere in the text).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    cn2an==0.5.24 proces==0.1.7

expected='a hundred yuan: 一百块钱 100块钱
in 1984: 一九八四年 1984年
Samsung phone: 三星手机 3星手机
Romance of the Three Kingdoms: 三国演义 3国演义
Sichuan University: 四川大学 4川大学
together: 一起 1起
May Day: 五一 51
one-to-one: 一一对应 11对应
snacks: 零食 0食
Zhang San: 张三 张3
Wanda cinema: 万达影院 万达影院'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import warnings

from cn2an import transform

warnings.simplefilter("ignore")
texts = {
    "a hundred yuan": "一百块钱",
    "in 1984": "一九八四年",
    "Samsung phone": "三星手机",
    "Romance of the Three Kingdoms": "三国演义",
    "Sichuan University": "四川大学",
    "together": "一起",
    "May Day": "五一",
    "one-to-one": "一一对应",
    "snacks": "零食",
    "Zhang San": "张三",
    "Wanda cinema": "万达影院",
}
for meaning, text in texts.items():
    print(f"{meaning}: {text} {transform(text)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
