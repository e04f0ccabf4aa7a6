#!/usr/bin/env bash
# Guess: in search as you type, each further letter of a word that is in a document keeps the document in the results.
# Behaviour: an index of stems has no more than the stem. In PostgreSQL 18 (PGlite 0.5.17), where prefixes are stemmed
# as words are, `univers:*` finds university, `universi:*` and `universit:*` do not, and `university:*` does again. In
# lunr 2.3.9, which does not stem a word with a wildcard, the whole word with a star finds nothing either.
# Why it matters: results appear, go and come back while one word is typed, and logs hold queries without results for
# words that are in the collection; measured on whole words, nothing is wrong.
# Source: PostgreSQL, documentation, "Parsing Queries" (:* and normalisation); lunr, guide "Wildcards" (no stemming).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17 lunr@2.3.9

expected='univers: postgresql true, lunr true
universi: postgresql false, lunr false
universit: postgresql false, lunr false
university: postgresql true, lunr false'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";
import lunr from "lunr";

const database = new PGlite();
const index = lunr(function () {
    this.ref("id");
    this.field("text");
    this.add({ id: "a", text: "the old university" });
});
for (const prefix of ["univers", "universi", "universit", "university"]) {
    const { rows } = await database.query(
        "select to_tsvector('english', 'the old university') @@ to_tsquery('english', $1) as found",
        [`${prefix}:*`],
    );
    console.log(`${prefix}: postgresql ${rows[0].found}, lunr ${index.search(`${prefix}*`).length > 0}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
