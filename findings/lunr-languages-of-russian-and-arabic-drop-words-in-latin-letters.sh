#!/usr/bin/env bash
# Guess: an index of lunr with a language of lunr-languages stems words of this language and keeps other words as they
# are: Russian documents about Python are found by "Python", as German ones are.
# Behaviour: in lunr-languages 1.22.0 a trimmer takes all characters from both ends of a word that are none of the
# language's own letters or digits. In Russian and Arabic nothing is left of a word in Latin letters: "Python" is in no
# index and "Boeing 747" is 747, in documents and queries, and nothing is said.
# Why it matters: names, brands and terms are what is asked for in such collections. With multiLanguage("en", "ru") the
# words are there; with + before each word the query for Boeing 747 has no result in Russian.
# Source: lunr-languages, lunr.ru.js (wordCharacters), lunr.stemmer.support.js (generateTrimmer); README on content in
# several languages.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" lunr@2.3.9 lunr-languages@1.22.0

expected='de: Python 1, NASA 1, Boeing 1, 747 1, +Boeing +747 1
ru: Python 0, NASA 0, Boeing 0, 747 1, +Boeing +747 0
ar: Python 0, NASA 0, Boeing 0, 747 1, +Boeing +747 0
en + ru: Python 1, NASA 1, Boeing 1, 747 1, +Boeing +747 1'

cd "$folder"
observed=$(node - <<'EOF'
const lunr = require("lunr");
require("lunr-languages/lunr.stemmer.support")(lunr);
require("lunr-languages/lunr.multi")(lunr);

const texts = ["Python", "Boeing 747", "NASA"];
const show = (name, language) => {
    const index = lunr(function () {
        this.use(language);
        this.ref("text");
        this.field("text");
        texts.forEach((text) => this.add({ text }));
    });
    const queries = ["Python", "NASA", "Boeing", "747", "+Boeing +747"];
    console.log(`${name}:`, queries.map((query) => `${query} ${index.search(query).length}`).join(", "));
};
for (const name of ["de", "ru", "ar"]) {
    require(`lunr-languages/lunr.${name}`)(lunr);
    show(name, lunr[name]);
}
show("en + ru", lunr.multiLanguage("en", "ru"));
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
