#!/usr/bin/env bash
# Guess: PostgreSQL knows host names such as example.com, and elsewhere a full stop ends a word: node.js and a sentence
# without a space before the next one are two words.
# Behaviour: in PostgreSQL 18 (PGlite 0.5.17) any two words with a full stop and no space between them are a host, one
# word of the index that is not stemmed: neither of the two finds the text, nor the pair with a space. Of a text in
# which the spaces behind full stops are missing, the last and the first word of each sentence are lost. The names of
# files and Ph.D. are hosts, too.
# Why it matters: text that was taken out of HTML and PDF lacks such spaces often, and names of software (node.js,
# asp.net, scikit.learn) are asked for by their first part.
# Source: PostgreSQL, src/backend/tsearch/wparser_def.c (TPS_InHostFirstDomain, TPS_InHost).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @electric-sql/pglite@0.5.17

expected='We use node.js: node.js use
The trial ended.Patients were discharged.Costs fell: discharged.costs ended.patients fell trial
notes.pdf: notes.pdf
a Ph.D. thesis: ph.d thesi
node: not found
node js: not found
node.js: found
patients: not found
trial end: not found
costs: not found'

cd "$folder"
observed=$(node --input-type=module - <<'EOF'
import { PGlite } from "@electric-sql/pglite";

const database = new PGlite();
const texts = ["We use node.js", "The trial ended.Patients were discharged.Costs fell", "notes.pdf", "a Ph.D. thesis"];
for (const text of texts) {
    const { rows } = await database.query(
        "select tsvector_to_array(to_tsvector('english', $1)) as words", [text],
    );
    console.log(`${text}: ${rows[0].words.join(" ")}`);
}
const pairs = [
    ["node", texts[0]],
    ["node js", texts[0]],
    ["node.js", texts[0]],
    ["patients", texts[1]],
    ["trial end", texts[1]],
    ["costs", texts[1]],
];
for (const [query, text] of pairs) {
    const { rows } = await database.query(
        "select to_tsvector('english', $2) @@ websearch_to_tsquery('english', $1) as found", [query, text],
    );
    console.log(`${query}: ${rows[0].found ? "found" : "not found"}`);
}
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
