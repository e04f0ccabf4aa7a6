#!/usr/bin/env bash
# Guess: stop_words="english" of scikit-learn, and the stop words of gensim, are words of grammar (the, of, was).
# Behaviour: both (scikit-learn 1.9.1, gensim 4.4.0) also have fire, system, bill, interest, mill, detail, cry, fill,
# thick and thin; gensim has computer, make, used and kg as well. "Fire alarm system" is "alarm", "interest bill" is
# nothing. The list of Lucene (bm25s, stopwords="en") has none of them.
# Why it matters: a query whose words are all on the list matches nothing, and the title words of a topic on fires,
# bills or mills count nothing; a baseline with these lists is lower for reasons that are not the ranker's.
# Source: sklearn/feature_extraction/_stop_words.py (from the Glasgow group); gensim, parsing/preprocessing.py
# (STOPWORDS, extended from it). scikit-learn's guide warns that the list has known issues.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-learn==1.9.1 gensim==4.4.0 bm25s==0.3.16 numpy==1.26.4 scipy==1.12.0

expected='scikit-learn: fire system bill interest mill detail cry fill thick thin
gensim: fire system bill interest mill detail cry fill thick thin computer make used kg
bm25s: none
fire alarm system: scikit-learn alarm, gensim alarm
interest bill: scikit-learn nothing, gensim nothing'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from bm25s.stopwords import STOPWORDS_EN
from gensim.parsing.preprocessing import STOPWORDS, remove_stopwords
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

words = "fire system bill interest mill detail cry fill thick thin computer make used kg".split()
for name, stop in (("scikit-learn", ENGLISH_STOP_WORDS), ("gensim", STOPWORDS), ("bm25s", STOPWORDS_EN)):
    print(f"{name}:", " ".join(word for word in words if word in stop) or "none")
for query in ("fire alarm system", "interest bill"):
    left = TfidfVectorizer(stop_words="english").build_analyzer()(query)
    print(f"{query}: scikit-learn {' '.join(left) or 'nothing'}, gensim {remove_stopwords(query) or 'nothing'}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
