#!/usr/bin/env bash
# Guess: Kiwi parts a Korean noun in a query as it does in a text: a word that is one morpheme in documents is one
# where it is the whole query.
# Behaviour: kiwipiepy 0.24.1 chooses the parts of a whole sentence by its language model. University is one noun
# before a particle of place or another noun, and the prefix great and the noun school where it is the whole query, or
# with the particle of the object. Ghana alone is the verb go with an ending, as are the aubergine and song (gayo).
# Of queries with a second word all find the noun.
# Why it matters: queries of one word are the most frequent, and this word is what they search. Documents that have it
# as one term are not found, those about schools are; tests with sentences do not show it.
# Source: Kiwi, README (the analysis that is the most probable for the sentence); the output of the script.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    kiwipiepy==0.24.1 kiwipiepy_model==0.24.0 numpy==1.26.4

expected='university: alone 대/학교, ranking 대학교, go to 대학교, history of the 대학교
Ghana: alone 가/나, ranking 가나, go to 가나, history of the 가나
aubergine: alone 가/지, ranking 가지, go to 가지, history of the 가지
song: alone 가/어요, ranking 가요, go to 가요, history of the 가요
hospital: alone 병원, ranking 병원, go to 병원, history of the 병원'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from kiwipiepy import Kiwi

kiwi = Kiwi()
for name, word in {"university": "대학교", "Ghana": "가나", "aubergine": "가지", "song": "가요", "hospital": "병원"}.items():
    texts = {"alone": word, "ranking": f"{word} 순위", "go to": f"{word}에 간다", "history of the": f"그 {word}의 역사"}
    whole = {}
    for place, text in texts.items():
        start = text.index(word)
        inside = range(start, start + len(word))
        whole[place] = "/".join(token.form for token in kiwi.tokenize(text) if token.start in inside)
    print(f"{name}:", ", ".join(f"{place} {parts}" for place, parts in whole.items()))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
