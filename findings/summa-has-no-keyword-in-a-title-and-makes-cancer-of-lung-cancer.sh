#!/usr/bin/env bash
# Guess: keywords of summa (TextRank) gives the best word or phrase of any text that has one; how many are asked for
# decides where the list ends, not what its first phrase is.
# Behaviour: summa 1.2.0 takes by default a fifth of the distinct words, rounded down, before it makes phrases: a title
# with fewer than five of them has no keyword, "lung cancer" is cancer in a longer one, as lung is not among the words
# that were taken, and the phrase with two words asked for. So the keywords of a short list are not those at the head
# of a longer one. A word said three times is no keyword where it is the only one.
# Why it matters: titles, queries and captions are what is expanded and tagged so; where the answer is empty nothing is
# said, and names of two words come as one of them.
# Source: summa, keywords.py (ratio 0.2, _extract_tokens: a number of lemmas; _get_keywords_with_score and phrases).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    summa==1.2.0 scipy==1.15.3 numpy==1.26.4

expected='breast cancer treatment with insulin
    default: none
    two words: breast cancer
    all: breast cancer treatment
cancer cancer cancer
    default: none
    two words: fewer words than asked for, an error
    all: cancer
Treatment of lung cancer by early screening and new drugs in older patients with diabetes
    default: cancer
    two words: lung cancer
    all: early screening, lung cancer, new drugs, older patients'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from summa.keywords import keywords

texts = (
    "breast cancer treatment with insulin",
    "cancer cancer cancer",
    "Treatment of lung cancer by early screening and new drugs in older patients with diabetes",
)
for text in texts:
    print(text)
    for name, options in {"default": {}, "two words": {"words": 2}, "all": {"ratio": 1.0}}.items():
        try:
            found = ", ".join(sorted(keywords(text, split=True, **options)))
        except IndexError:
            found = "fewer words than asked for, an error"
        print(f"    {name}: {found or 'none'}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
