#!/usr/bin/env bash
# Guess: lunr.multiLanguage("en", "de") finds what the English or the German index finds, and the order in which the
# languages are named is of no matter.
# Behaviour: in lunr-languages 1.22.0 each word goes through the stemmers of all languages, one after the other, in the
# order of the names. English makes "hau" of Haus, which German leaves, and leaves the word Häuser, of which German
# makes "haus": with ("en", "de") they do not meet, with ("de", "en") they do. The stop words of each language are
# taken out of all texts: English texts about war have no "war" ("was" in German) in either order.
# Why it matters: German recall falls to exact forms as soon as English is named first, as in the examples of the
# README, and "war", "die" and "hat" are found in no text.
# Source: lunr-languages, lunr.multi.js (its head says that some words will not meet; not that the order decides).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" lunr@2.3.9 lunr-languages@1.22.0

expected='de: Haus finds Haus, Häuser; Gläser finds Glas, Gläser; house finds house, houses; war finds nothing
en, de: Haus finds Haus; Gläser finds Gläser; house finds house, houses; war finds nothing
de, en: Haus finds Haus, Häuser; Gläser finds Glas, Gläser; house finds house, houses; war finds nothing
en: house finds house, houses; war finds war and peace'

cd "$folder"
observed=$(node - <<'EOF'
const lunr = require("lunr");
require("lunr-languages/lunr.stemmer.support")(lunr);
require("lunr-languages/lunr.multi")(lunr);
require("lunr-languages/lunr.de")(lunr);

const texts = ["Haus", "Häuser", "Glas", "Gläser", "house", "houses", "war and peace"];
const show = (name, queries, language) => {
    const index = lunr(function () {
        if (language) {
            this.use(language);
        }
        this.ref("text");
        this.field("text");
        texts.forEach((text) => this.add({ text }));
    });
    const found = (query) => index.search(query).map(({ ref }) => ref).sort().join(", ") || "nothing";
    console.log(`${name}:`, queries.map((query) => `${query} finds ${found(query)}`).join("; "));
};
const queries = ["Haus", "Gläser", "house", "war"];
show("de", queries, lunr.de);
show("en, de", queries, lunr.multiLanguage("en", "de"));
show("de, en", queries, lunr.multiLanguage("de", "en"));
show("en", ["house", "war"], null);
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
