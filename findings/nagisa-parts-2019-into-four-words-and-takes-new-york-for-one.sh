#!/usr/bin/env bash
# Guess: a segmenter of Japanese keeps a run of digits as one word, as MeCab and Janome do, and parts words in Latin
# letters at their spaces, which are no words.
# Behaviour: nagisa 0.3.0 makes each digit a word: 2019 is 2, 0, 1, 9 and iPhone14 is iPhone, 1, 4. A space becomes an
# ideographic one, which is a word of its own or stands in the middle of one: New York is one word. Janome 0.5.1 has
# 2019, 14, New and York.
# Why it matters: indexed by these words, 2019 finds what has 1902 or 9 and 210, and BM25 takes digits for the common
# words that they then are; York does not find New York.
# Source: nagisa, tagger.py (spaces become ideographic ones before the model); its model was trained on words whose
# digits are apart.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    janome==0.5.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    nagisa==0.3.0 DyNet38==2.2 numpy==2.4.6 six==1.17.0

expected='2019年: nagisa 2 | 0 | 1 | 9 | 年
    janome 2019 | 年
iPhone14の価格: nagisa iPhone | 1 | 4 | の | 価格
    janome iPhone | 14 | の | 価格
New York hotel: nagisa New(space)York | (space) | hotel
    janome New |   | York |   | hotel
Wi-Fi設定: nagisa Wi | - | Fi | 設定
    janome Wi | - | Fi | 設定'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import nagisa
from janome.tokenizer import Tokenizer

janome = Tokenizer()
for text in ("2019年", "iPhone14の価格", "New York hotel", "Wi-Fi設定"):
    words = [word.replace("\u3000", "(space)") for word in nagisa.tagging(text).words]
    print(f"{text}: nagisa {' | '.join(words)}")
    print(f"    janome {' | '.join(token.surface for token in janome.tokenize(text))}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
