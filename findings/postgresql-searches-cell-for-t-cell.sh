#!/usr/bin/env bash
# Guess: single letters are either words of the index or not: T cell and B cell, Model S and Model X are searched
# alike.
# Behaviour: the English stop words of PostgreSQL 18 (PGlite 0.5.17) have the letters a, i, s and t, the last two for
# what is left of it's and don't. T cell is searched as cell, Model S as model, and AT&T is at and t, two stop words:
# the query is empty and finds nothing. B cell keeps both words. don, just, now, own, should and will are stop words,
# too.
# Why it matters: T cells, T. rex, hepatitis A, vitamin A, Model S and the name AT&T are among the frequent terms of
# their fields, and their letter is what tells them from the others; nothing but the parsed query shows it.
# Source: PostgreSQL, src/backend/snowball/stopwords/english.stop.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected='letters that are stop words: a i s t
T cell: cell
B cell: b & cell
Model S: model
Model X: model & x
hepatitis A: hepat
hepatitis B: hepat & b
AT&T: empty
Will Smith: smith'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";

const database = new PGlite();
const parsed = async (text) => {
    const { rows } = await database.query("select plainto_tsquery('english', $1)::text as query", [text]);
    return rows[0].query.replaceAll("'", "");
};
const letters = "abcdefghijklmnopqrstuvwxyz".split("");
const dropped = [];
for (const letter of letters) if (!(await parsed(letter))) dropped.push(letter);
console.log("letters that are stop words:", dropped.join(" "));
const queries = ["T cell", "B cell", "Model S", "Model X", "hepatitis A", "hepatitis B", "AT&T", "Will Smith"];
for (const query of queries) {
    console.log(`${query}: ${(await parsed(query)) || "empty"}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
