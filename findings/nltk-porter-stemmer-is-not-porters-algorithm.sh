#!/usr/bin/env bash
# Guess: the PorterStemmer of NLTK, and its SnowballStemmer("porter"), are Porter's algorithm, as Lucene, Terrier and
# Snowball have it: queries stemmed by one find what was indexed by the other.
# Behaviour: NLTK 3.10.4 extends the algorithm by default, with exceptions (news, proceed, dying) and other rules for
# -y and -ie-. 16 of the 18 words below have another stem than with Snowball's porter (PyStemmer).
# mode="ORIGINAL_ALGORITHM" is Porter's.
# Why it matters: words as usual as boys, tied and news of queries that were stemmed in Python match no document of an
# index of Anserini or Terrier; nothing fails, these words count 0.
# Source: nltk, stem/porter.py (PorterStemmer.__init__: mode=NLTK_EXTENSIONS); stem/snowball.py (PorterStemmer).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    nltk==3.10.4 PyStemmer==2.2.0.3

expected='PorterStemmer(): 16 of 18 have another stem than with porter
SnowballStemmer("porter"): 16 of 18 have another stem than with porter
ORIGINAL_ALGORITHM: 0 of 18 have another stem than with porter
boys: boy, porter boi
news: news, porter new
tied: tie, porter ti'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import Stemmer
from nltk.stem import PorterStemmer, SnowballStemmer

words = "skies dying lying news innings outing proceed dies tied ties shy fly enjoys boys exceed succeed"
words = [*words.split(), "running", "relational"]
porter = Stemmer.Stemmer("porter").stemWord
for name, stem in (
    ("PorterStemmer()", PorterStemmer().stem),
    ('SnowballStemmer("porter")', SnowballStemmer("porter").stem),
    ("ORIGINAL_ALGORITHM", PorterStemmer(mode="ORIGINAL_ALGORITHM").stem),
):
    other = [word for word in words if stem(word) != porter(word)]
    print(f"{name}: {len(other)} of {len(words)} have another stem than with porter")
for word in ("boys", "news", "tied"):
    print(f"{word}: {PorterStemmer().stem(word)}, porter {porter(word)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
