#!/usr/bin/env bash
# Guess: strip_accents="ascii" writes accented letters as the letters of ASCII that they are typed with, and leaves or
# splits what has none.
# Behaviour: in scikit-learn 1.9.1 TfidfVectorizer and CountVectorizer take a letter out where Unicode does not divide
# it into a letter and a mark: Łódź is odz, København kbenhavn, smørrebrød smrrebrd and Straße strae. Words of
# Cyrillic, Greek and Chinese are no words at all, and their documents have vectors of zeros. "unicode" keeps these
# letters, and folds no more of them.
# Why it matters: the query lodz or kobenhavn matches neither way, other words collide (Þór and Łor are both or), and
# a mixed collection ranks its other languages by their numbers and Latin names alone.
# Source: scikit-learn, feature_extraction/text.py (strip_accents_ascii: NFKD, then encode to ASCII with errors
# ignored).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check scikit-learn==1.9.1 numpy==1.26.4 scipy==1.17.1

expected='texts: café Łódź København smørrebrød Straße Þór Москва λόγος 日本語
ascii: cafe odz kbenhavn smrrebrd strae or nothing nothing nothing
unicode: cafe łodz københavn smørrebrød straße þor москва λογος 日本語'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from sklearn.feature_extraction.text import CountVectorizer

texts = ["café", "Łódź", "København", "smørrebrød", "Straße", "Þór", "Москва", "λόγος", "日本語"]
print("texts:", *texts)
for mode in ("ascii", "unicode"):
    words = CountVectorizer(strip_accents=mode).build_analyzer()
    print(f"{mode}:", " ".join(words(text)[0] if words(text) else "nothing" for text in texts))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
