#!/usr/bin/env bash
# Guess: SudachiPy's `normalized_form` brings spellings of one word together (サーバ and サーバー, 打込む and 打ち込む), and
# leaves words in Latin letters as they are, or all in small letters.
# Behaviour: with SudachiPy 0.7.0 and the core dictionary of 2026-10-15 a word in Latin letters is looked up whatever
# its case, and gets the form of the entry: it is IT, who is WHO, us is US, aids is AIDS; data is データ, game is ゲーム, the
# is ザ and "is it" イズイット in katakana, while can, car and rust stay as they are. U.S. is u . s . in small letters.
# Why it matters: English in Japanese texts (titles, abstracts, comments) is found for the abbreviations, and
# "the" and "and" are no stop words of a list in Latin letters any more; a phrase in English is one of mixed scripts.
# Source: SudachiDict, the columns of the normalised form; SudachiPy, README (normalized_form).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    SudachiPy==0.7.0 SudachiDict-core==20261015

expected='サーバ サーバー: サーバー サーバー
it IT: IT IT
who WHO: WHO WHO
us US: US US
aids AIDS: AIDS AIDS
who is it: WHO イズイット
data データ: データ データ
game the: ゲーム ザ
can car rust: can car rust
U.S.: u . s .'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from sudachipy import dictionary

tokenizer = dictionary.Dictionary().create()
texts = ("サーバ サーバー", "it IT", "who WHO", "us US", "aids AIDS", "who is it", "data データ", "game the",
         "can car rust", "U.S.")
for text in texts:
    forms = [word.normalized_form() for word in tokenizer.tokenize(text)]
    print(f"{text}: {' '.join(form for form in forms if form.strip())}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
