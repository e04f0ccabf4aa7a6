#!/usr/bin/env bash
# Guess: fuzzball.extract("C#", ...) puts the choice that is the query itself first, with a score above those of others.
# Behaviour: fuzzball 2.2.6 replaces every mark with a blank and trims before it compares (full_process, on by default):
# "C#", "C++" and "C" are the same text, each scores 100, and the first of the choices is the best. So are "+5" and
# "-5", ".NET" and "net". With full_process: false the query itself is first, alone at 100.
# Why it matters: entities, tags and products that differ by a mark are merged where lists are linked or deduplicated
# with a cutoff, however high; which of them wins is the order of the list. RapidFuzz, the usual choice in Python,
# has had no processing by default since version 3.
# Source: fuzzball, README (full_process), lib/utils.js (full_process).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" fuzzball@2.2.6

expected='default, C#: C 100, C++ 100, C# 100, F# 0
default, -5: +5 100, -5 100, 50 67
default, .NET: net 100, .NET 100, internet 55
full_process: false, C#: C# 100, C 67, F# 50, C++ 40'

cd "$folder"
observed=$(node - <<'EOF'
const fuzzball = require("fuzzball");

const show = (name, query, choices, options) => {
    const found = fuzzball.extract(query, choices, options);
    console.log(`${name}, ${query}:`, found.map(([choice, score]) => `${choice} ${score}`).join(", "));
};
const languages = ["C", "C++", "C#", "F#"];
show("default", "C#", languages);
show("default", "-5", ["+5", "-5", "50"]);
show("default", ".NET", ["net", ".NET", "internet"]);
show("full_process: false", "C#", languages, { full_process: false });
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
