#!/usr/bin/env bash
# Guess: convert of html-to-text gives the words of a page as they are written, a line for a row of a table.
# Behaviour: html-to-text 10.0.1 writes headings in capitals, and the head of a table that is formatted as data, and
# joins the cells of any other table without a space: "AgeDoseadult500" is one word. Links have their address behind
# them, in brackets.
# Why it matters: a heading is the most telling text of a page. In capitals "it" and "us" are IT and US, names and
# abbreviations are not to be told apart, and models that know capitals have other vectors for them; the values of
# tables are found by no word.
# Source: html-to-text, README (uppercase is true for headings; a table has no data formatter by default).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" html-to-text@10.0.1

expected='heading: WHAT IT MEANS FOR US / It is a plan.
table: AgeDoseadult500
data table: AGE     DOSE / adult   500
link: Read the page [/dose] first.'

cd "$folder"
observed=$(node - 2> "$folder/log" <<'EOF'
const { convert } = require("html-to-text");

const pages = {
  "heading": "<h2>What it means for us</h2><p>It is a plan.</p>",
  "table": "<table><tr><th>Age</th><th>Dose</th></tr><tr><td>adult</td><td>500</td></tr></table>",
  "data table": "<table><tr><th>Age</th><th>Dose</th></tr><tr><td>adult</td><td>500</td></tr></table>",
  "link": "<p>Read <a href='/dose'>the page</a> first.</p>",
};
for (const [name, page] of Object.entries(pages)) {
  const options = name === "data table" ? { selectors: [{ selector: "table", format: "dataTable" }] } : {};
  console.log(`${name}: ${convert(page, options).split("\n").filter((line) => line).join(" / ")}`);
}
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
