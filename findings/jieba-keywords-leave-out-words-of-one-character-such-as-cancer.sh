#!/usr/bin/env bash
# Guess: `jieba.analyse.extract_tags` weighs the words that `jieba.cut` finds by TF-IDF: a word that a text repeats and
# others do not have is a keyword, however short it is.
# Behaviour: in jieba 0.42.1 words of one character are left out, by extract_tags and by textrank: 癌 (cancer), 税 (tax),
# 油 (oil), 猫 (cat) are never keywords, and a text of them has none. A word that the table of IDF lacks counts as one of
# median rarity, so that "http" weighs more than 疫苗 (vaccine).
# Why it matters: keywords are used as queries, as fields that are boosted and as features; what a short Chinese query
# asks is often one character, and it is missing in the index of keywords although it is a word for the segmenter.
# Source: jieba, analyse/tfidf.py (len(wc.strip()) < 2; median_idf) and analyse/textrank.py (pairfilter).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    jieba==0.42.1

expected='猫 狗 猫 鱼: words 猫/狗/猫/鱼, keywords none, textrank none
税 税 税 油 油 油价: words 税/税/税/油/油/油价, keywords 油价, textrank none
肺癌 癌 癌 癌: words 肺癌/癌/癌/癌, keywords 肺癌, textrank none
http 疫苗: words http/疫苗, keywords http 5.98 疫苗 3.63'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import jieba
import jieba.analyse

jieba.setLogLevel(60)
for text in ("猫 狗 猫 鱼", "税 税 税 油 油 油价", "肺癌 癌 癌 癌"):
    words = "/".join(word for word in jieba.cut(text) if word.strip())
    keywords = " ".join(jieba.analyse.extract_tags(text)) or "none"
    textrank = " ".join(jieba.analyse.textrank(text)) or "none"
    print(f"{text}: words {words}, keywords {keywords}, textrank {textrank}")
text = "http 疫苗"
weights = " ".join(f"{word} {weight:.2f}" for word, weight in jieba.analyse.extract_tags(text, withWeight=True))
print(f"{text}: words {'/'.join(text.split())}, keywords {weights}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
