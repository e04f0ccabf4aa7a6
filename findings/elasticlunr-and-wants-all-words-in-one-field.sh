#!/usr/bin/env bash
# Guess: bool: "AND" returns the documents that have every word of the query, in whichever field.
# Behaviour: in elasticlunr 0.9.5, AND holds within each field, and a document is found where one of its fields has all
# words alone: one word in the title and the other in the body is no match. AND of MiniSearch 7.2.0 is over the
# document.
# Why it matters: more fields make AND stricter, not wider; recall falls where a text is cut into a title and a body,
# and two engines with AND have other candidates.
# Source: elasticlunr, elasticlunr.js (search: fieldSearch for each field, then the scores of fields are added).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" elasticlunr@0.9.5 minisearch@7.2.0

expected='elasticlunr AND: body; OR: body, split, one word
elasticlunr AND, one field for all: body, split
minisearch AND: body, split'

cd "$folder"
observed=$(node - <<'EOF'
const elasticlunr = require("elasticlunr");
const MiniSearch = require("minisearch");

const documents = [
    { id: "split", title: "old oak", body: "a forest of pines" },
    { id: "body", title: "trees", body: "oak forest" },
    { id: "one word", title: "oak", body: "a desk" },
];
const index = (fields, chosen) =>
    elasticlunr(function () {
        this.setRef("id");
        fields.forEach((field) => this.addField(field));
        chosen.forEach((document) => this.addDoc(document));
    });
const found = (search, bool) => search.search("oak forest", { bool }).map(({ ref }) => ref).join(", ");

const fields = index(["title", "body"], documents);
console.log(`elasticlunr AND: ${found(fields, "AND")}; OR: ${found(fields, "OR")}`);
const whole = index(["text"], documents.map(({ id, title, body }) => ({ id, text: `${title} ${body}` })));
console.log("elasticlunr AND, one field for all:", found(whole, "AND"));
const other = new MiniSearch({ fields: ["title", "body"] });
other.addAll(documents);
const results = other.search("oak forest", { combineWith: "AND" });
console.log("minisearch AND:", results.map(({ id }) => id).sort().join(", "));
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
