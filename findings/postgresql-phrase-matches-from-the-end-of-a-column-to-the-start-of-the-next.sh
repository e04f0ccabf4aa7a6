#!/usr/bin/env bash
# Guess: setweight(to_tsvector(title), 'A') || setweight(to_tsvector(body), 'D'), the documented way to search two
# columns, keeps them apart: a phrase is in the title or in the body.
# Behaviour: in PostgreSQL 18 (PGlite 0.5.17) the first word of the body stands next to the last word of the title
# that is no stop word: the title "red oak" and the body "pine forest" have the phrase "oak pine". "A walk in the"
# before "oak" has it that walk and oak are neighbours, since the positions of the stop words at the end are gone.
# ts_rank of both words has the value that it has for neighbours.
# Why it matters: phrases and the distances of ts_rank are read over the border of title and body, of fields of names,
# and of tags; the nearer a match is to the border, the more often it is none.
# Source: PostgreSQL, documentation of tsvector || tsvector: positions of the right one are offset by the largest one
# of the left.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected='red oak | pine forest: phrase "oak pine" true, ts_rank 0.99
oak pine | forest: phrase "oak pine" true, ts_rank 0.99
a walk in the | oak: phrase "walk oak" true, ts_rank 0.99
a walk in the oak | pine: phrase "walk oak" false, ts_rank 0.97'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";

const database = new PGlite();
const select = `select v @@ phraseto_tsquery('english', $3) as phrase,
    ts_rank('{1, 1, 1, 1}', v, plainto_tsquery('english', $3)) as rank
    from (select setweight(to_tsvector('english', $1), 'A') || setweight(to_tsvector('english', $2), 'D') as v) as t`;
for (const [title, body, query] of [
    ["red oak", "pine forest", "oak pine"],
    ["oak pine", "forest", "oak pine"],
    ["a walk in the", "oak", "walk oak"],
    ["a walk in the oak", "pine", "walk oak"],
]) {
    const { rows } = await database.query(select, [title, body, query]);
    console.log(`${title} | ${body}: phrase "${query}" ${rows[0].phrase}, ts_rank ${rows[0].rank.toFixed(2)}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
