#!/usr/bin/env bash
# Guess: websearch_to_tsquery takes a minus that is joined to a word for NOT, as search engines do, and leaves a dash
# between spaces out, which is a mark of titles.
# Behaviour: in PostgreSQL 18 (PGlite 0.5.17) the dash excludes the next word: Mission Impossible - Fallout is
# impossible, mission and not fallout, and the film is the one that is not found. A phrase behind a dash is excluded as
# a whole; a long dash (–) is left out.
# Why it matters: titles of films, songs, products and pages are written with a dash, copied into search boxes, and this
# function is the one that is recommended for raw input: the best match is excluded.
# Source: PostgreSQL, src/backend/utils/adt/tsquery.c (gettoken_query_websearch: a minus in the place of an operand).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected='Mission Impossible - Fallout: mission & imposs & !fallout: Mission: Impossible; Impossible mission
Mission Impossible – Fallout: mission & imposs & fallout: Mission: Impossible - Fallout
Mission Impossible -Fallout: mission & imposs & !fallout: Mission: Impossible; Impossible mission'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";

const database = new PGlite();
await database.exec(`
    create table films (title text);
    insert into films values ('Mission: Impossible - Fallout'), ('Mission: Impossible'), ('Impossible mission');
`);
const queries = ["Mission Impossible - Fallout", "Mission Impossible – Fallout", "Mission Impossible -Fallout"];
for (const query of queries) {
    const { rows } = await database.query(
        `select websearch_to_tsquery('english', $1)::text as parsed,
            (select string_agg(title, '; ') from films where to_tsvector('english', title)
                @@ websearch_to_tsquery('english', $1)) as found`,
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
