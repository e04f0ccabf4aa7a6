#!/usr/bin/env bash
# Guess: in websearch_to_tsquery or joins the two words beside it, as in web search engines: jaguar or panther habitat
# is habitat, and one of the two animals; brackets, where one writes them, say the same.
# Behaviour: in PostgreSQL 18 (PGlite 0.5.17) the words that stand beside each other are joined first: the query is
# jaguar alone, or panther with habitat, and a page of cars with jaguar is found. Brackets are left out without a
# message; the other query must be written out, with habitat twice.
# Why it matters: the function is made for people who know web search; its documentation says that or becomes an
# operator, not how far that reaches, and results of the first word alone fill the list.
# Source: PostgreSQL, src/backend/utils/adt/tsquery.c (makepol with the priorities of operators; brackets are ignored
# for web search).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected='jaguar or panther habitat: jaguar | panther & habitat: jaguar cars; jaguar habitat; panther habitat
habitat jaguar or panther: habitat & jaguar | panther: jaguar habitat; panther habitat; panther shoes
(jaguar or panther) habitat: jaguar | panther & habitat: jaguar cars; jaguar habitat; panther habitat
jaguar habitat or panther habitat: jaguar & habitat | panther & habitat: jaguar habitat; panther habitat'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";

const database = new PGlite();
await database.exec(`
    create table pages (text text);
    insert into pages values ('jaguar cars'), ('jaguar habitat'), ('panther habitat'), ('panther shoes'), ('habitat');
`);
const queries = [
    "jaguar or panther habitat",
    "habitat jaguar or panther",
    "(jaguar or panther) habitat",
    "jaguar habitat or panther habitat",
];
for (const query of queries) {
    const { rows } = await database.query(
        `select websearch_to_tsquery('simple', $1)::text as parsed,
            (select string_agg(text, '; ') from pages where to_tsvector('simple', text)
                @@ websearch_to_tsquery('simple', $1)) as found`,
        [query],
    );
    console.log(`${query}: ${rows[0].parsed.replaceAll("'", "")}: ${rows[0].found}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
