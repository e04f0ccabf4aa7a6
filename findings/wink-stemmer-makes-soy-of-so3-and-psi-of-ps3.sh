#!/usr/bin/env bash
# Guess: a stemmer leaves words with digits, codes and numbers, as they are; if not, two words still stay two.
# Behaviour: wink-porter2-stemmer 2.0.1 (npm), which wink-nlp and wink-nlp-utils stem with, marks a y that is a
# consonant by the digit 3 and does not know the mark from a 3 of the word: at the end, behind a consonant, a 3 becomes
# i, and elsewhere y. So SO3 has the stem soy, PS3 that of psi, MP3 mpi, 350 y50, 3.5 y.5, 1,300 1,y00. What it meets
# there is the word itself: soy, psi, gpti. Words of two letters and 3 behind a vowel at the end stay.
# Why it matters: chemical formulas, products, doses and prices get the stems of words, and are shown so as keywords;
# another stemmer on the other side (Snowball in Python or a server) never finds them.
# Source: wink-porter2-stemmer, src/wink-porter2-stemmer.js (y is replaced by 3 at first, each 3 by y at the end).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" \
    wink-porter2-stemmer@2.0.1 wink-nlp@2.4.0 wink-eng-lite-web-model@1.8.1 wink-nlp-utils@2.1.0 snowball-stemmers@0.6.0

expected='so3: stem soy, wink-nlp soy, wink-nlp-utils soy; Snowball so3
soy: stem soy, wink-nlp soy, wink-nlp-utils soy; Snowball soy
ps3: stem psi, wink-nlp psi, wink-nlp-utils psi; Snowball ps3
psi: stem psi, wink-nlp psi, wink-nlp-utils psi; Snowball psi
mp3: stem mpi, wink-nlp mpi, wink-nlp-utils mpi; Snowball mp3
gpt3: stem gpti, wink-nlp gpti, wink-nlp-utils gpti; Snowball gpt3
gpt4: stem gpt4, wink-nlp gpt4, wink-nlp-utils gpt4; Snowball gpt4
h3n2: stem hyn2, wink-nlp hyn2, wink-nlp-utils hyn2; Snowball h3n2
350: stem y50, wink-nlp y50, wink-nlp-utils y50; Snowball 350
450: stem 450, wink-nlp 450, wink-nlp-utils 450; Snowball 450
3.5: stem y.5, wink-nlp y.5, wink-nlp-utils y.5; Snowball 3.5
4.5: stem 4.5, wink-nlp 4.5, wink-nlp-utils 4.5; Snowball 4.5
m3: stem m3, wink-nlp m3, wink-nlp-utils m3; Snowball m3'

cd "$folder"
observed=$(node - 2> "$folder/log" <<'EOF'
const stem = require("wink-porter2-stemmer");
const nlp = require("wink-nlp")(require("wink-eng-lite-web-model"));
const utils = require("wink-nlp-utils");
const snowball = require("snowball-stemmers").newStemmer("english");

for (const word of ["so3", "soy", "ps3", "psi", "mp3", "gpt3", "gpt4", "h3n2", "350", "450", "3.5", "4.5", "m3"]) {
  const inPipeline = nlp.readDoc(word).tokens().out(nlp.its.stem).join(" ");
  const stems = `stem ${stem(word)}, wink-nlp ${inPipeline}, wink-nlp-utils ${utils.string.stem(word)}`;
  console.log(`${word}: ${stems}; Snowball ${snowball.stem(word)}`);
}
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
