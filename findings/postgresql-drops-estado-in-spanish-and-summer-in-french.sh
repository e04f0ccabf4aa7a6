#!/usr/bin/env bash
# Guess: the stop words of a language are its words of grammar; a noun such as the Spanish Estado (state) or the
# French été (summer) can be searched.
# Behaviour: PostgreSQL 18 (PGlite 0.5.17) has Snowball's lists, whose words of grammar include all forms of to be and
# to have, written in small letters: estado and estados are participles of estar, été that of être, sentido that of
# sentir, são is "they are", volt in Hungarian "was". "Estados Unidos" is indexed as unid, "São Paulo" as paul, and
# the queries Estado, été, son (sound) and Volt are empty: they find nothing.
# Why it matters: Estado is among the most frequent nouns of Spanish news and law, and a query whose only word is
# dropped returns no row, with a notice at most. Lucene 9.9.1 drops estado in SpanishAnalyzer, too.
# Source: PostgreSQL, src/backend/snowball/stopwords/spanish.stop, french.stop, portuguese.stop and hungarian.stop.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected='spanish, Estados Unidos: unid
spanish, jefe de Estado: jef
spanish, Estado: empty
spanish, sentido: empty
french, été: empty
french, vacances d été: vacanc
french, son: empty
portuguese, São Paulo: paul
hungarian, Volt: empty'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";

const database = new PGlite();
const texts = {
    spanish: ["Estados Unidos", "jefe de Estado", "Estado", "sentido"],
    french: ["été", "vacances d'été", "son"],
    portuguese: ["São Paulo"],
    hungarian: ["Volt"],
};
for (const [language, list] of Object.entries(texts)) {
    for (const text of list) {
        const select = "select plainto_tsquery($1::regconfig, $2)::text as query";
        const { rows } = await database.query(select, [language, text]);
        console.log(`${language}, ${text.replace("'", " ")}: ${rows[0].query.replaceAll("'", "") || "empty"}`);
    }
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
