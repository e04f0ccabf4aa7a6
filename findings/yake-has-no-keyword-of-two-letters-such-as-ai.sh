#!/usr/bin/env bash
# Guess: YAKE ranks the words and phrases of a text by how typical they are of it; abbreviations, which it favours by a
# feature for capitals, are among its keywords.
# Behaviour: in yake 0.7.3 a word of less than three letters or signs is a stop word, whatever it is: no keyword and no
# end of a phrase is AI, EU, UK, 5G, C or C++. "New" is on its English list. A text of which every sentence says AI has
# medicine, law and schools for keywords, one on vitamin C Vitamin, and New York is York.
# Why it matters: queries, tags and fields for search that are made of keywords lack the one word that the text is
# about, in long lists as in short ones, and two texts on vitamins C and D have the same.
# Source: yake, yake/data/core.py (len(simples_unique_term) < 3), yake/core/StopwordsList/stopwords_en.txt.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    yake==0.7.3 click==8.5.1 jellyfish==1.3.0 networkx==3.6.1 numpy==2.3.5 regex==2026.11.19 \
    segtok==1.5.11 tabulate==0.10.0

expected='AI changes medicine: law, medicine, schools
Vitamin C cures scurvy: Sailors, Vitamin, cures, cures scurvy, scurvy
Vitamin D cures rickets: Children, Vitamin, cures, cures rickets, rickets
C++ is a language: Engineers, Engineers write, language, write
Hospitals in New York are new: Hospitals, York'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import yake

for text in (
    "AI changes medicine. AI changes law. AI changes schools. The EU and the UK look at AI.",
    "Vitamin C cures scurvy. Sailors need vitamin C.",
    "Vitamin D cures rickets. Children need vitamin D.",
    "C++ is a language. Engineers write C++.",
    "Hospitals in New York are new. New York has hospitals.",
):
    keywords = yake.KeywordExtractor(n=2, top=20).extract_keywords(text)
    print(f"{text.split('.')[0]}:", ", ".join(sorted(keyword for keyword, _ in keywords)))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
