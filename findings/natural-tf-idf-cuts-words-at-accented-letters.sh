#!/usr/bin/env bash
# Guess: TfIdf of natural, for JavaScript, counts the words of a text, also where letters have accents.
# Behaviour: in natural 8.1.1 the tokenizer splits at each letter that is neither a to z nor Cyrillic: Zürich is
# counted as rich, über as ber and naïve as na and ve; été and Łódź are gone, as all pieces of one letter are. The
# score of "rich" is that of a text about Zürich, and "Zürich" asked for whole has it as well, since queries are cut,
# too.
# Why it matters: nothing fails: scores of accented words are those of their longest pieces, which are other words
# (rich, ber, se, jalape), and names are mixed up. setTokenizer changes it.
# Source: natural, lib/natural/tfidf/tfidf.js (WordTokenizer, whose expression lists A-Z, a-z and Cyrillic letters).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" natural@8.1.1

expected='Zürich: rich
über alles: ber alles
naïve: na ve
été: no words
Łódź: no words
señor: se
Москва: москва
query rich: Zürich
query zürich: Zürich'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
process.env.DOTENV_CONFIG_QUIET = "true";
const { default: natural } = await import("natural");

const texts = ["Zürich", "über alles", "naïve", "été", "Łódź", "señor", "Москва"];
const index = new natural.TfIdf();
texts.forEach((text) => index.addDocument(text));
texts.forEach((text, number) => {
  console.log(`${text}:`, index.listTerms(number).map((entry) => entry.term).join(" ") || "no words");
});
for (const query of ["rich", "zürich"]) {
  const hits = texts.filter((_, number) => index.tfidf(query, number) > 0);
  console.log(`query ${query}:`, hits.join(" "));
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
