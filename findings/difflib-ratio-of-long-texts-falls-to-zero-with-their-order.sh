#!/usr/bin/env bash
# Guess: SequenceMatcher.ratio of two texts that differ in one word is near 1, and the order of the two changes little.
# Behaviour: in Python 3.8 to 3.14, from 200 characters of the second text on, characters that make up more than 1 % of
# it are no longer looked up: in plain English these are nearly all letters. 200 common words against the same with one
# in front are 1.00 one way and 0.02 the other; a letter added to each seventh word gives 0.42 in place of 0.99.
# autojunk=False turns it off.
# Why it matters: near duplicates are found in this way, get_close_matches and libraries that call difflib included; a
# threshold of 0.9 works on titles and misses copies among abstracts.
# Source: Python, Lib/difflib.py (SequenceMatcher, __chain_b: n >= 200).

set -euo pipefail

python=${PYTHON:-python3}

expected='one word in front: 1.00, the other way 0.02, autojunk=False 1.00 1.00
each seventh word longer: 0.42, the other way 0.42, autojunk=False 0.99 0.99
the same of the first 30 words: 0.98, the other way 0.98, autojunk=False 0.98 0.98'

observed=$("$python" - <<'EOF'
from difflib import SequenceMatcher
from random import Random

common = """the of and to in is that for it as was with be by on not he his but at are this have from or had an they
which one you were her all she there would their we him been has when who will more no if out so said what up its
about into than them can only other new some could time these two may then do first any my now such like our over
man me even most made after also did many before must through back years where much your way well down should
because each just those people mr how too little state good very make world still own see men work long get here
between both life being under never day same another know while last might us great old year off come since against
go came right used take three"""
words = common.split()
random = Random(0)
text = [words[int(random.random() * len(words))] for _ in range(200)]


def show(name, first, second):
    first, second = " ".join(first), " ".join(second)
    ratios = [
        f"{SequenceMatcher(None, *pair, autojunk=junk).ratio():.2f}"
        for junk in (True, False)
        for pair in ((first, second), (second, first))
    ]
    print(f"{name}: {ratios[0]}, the other way {ratios[1]}, autojunk=False {ratios[2]} {ratios[3]}")


def longer(words):
    return [word + "s" if place % 7 == 0 else word for place, word in enumerate(words)]


show("one word in front", text, ["however", *text])
show("each seventh word longer", text, longer(text))
show("the same of the first 30 words", text[:30], longer(text[:30]))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
