#!/usr/bin/env bash
# Guess: search-index, which ranks by tf-idf, puts a text of three words "oak" above one that says it once among seven
# words; words that are not asked change the order by the length at most.
# Behaviour: in search-index 6.0.1 the frequency of a word is divided by that of the most frequent word of the field,
# and by nothing else. Where no word is repeated each counts 1, like three of three: both texts tie, in the order of
# their ids, at any length. A text that says "oak" five times and "the" ten times counts half.
# Why it matters: the longest and the shortest text are equal as long as no word comes back, and stop words, which are
# not removed by default, halve what a text is about: the text that says the word most often is last.
# Source: search-index, src/tokenisationPipelineStages.js (SCORE_TERM_FREQUENCY), src/read.js (TFIDF).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" search-index@6.0.1 memory-level@3.1.0

expected='with stop words, oak: once of seven words 0.51, three of three words 0.51, five beside ten the 0.26
without stop words, oak: five beside ten the 0.51, once of seven words 0.51, three of three words 0.51'

cd "$folder"
cat > search.mjs <<'EOF'
import { MemoryLevel } from "memory-level";
import { SearchIndex } from "search-index";

const documents = [
    { _id: "once of seven words", text: "oak table chair lamp rug window door" },
    { _id: "three of three words", text: "oak oak oak" },
    { _id: "five beside ten the", text: "oak oak oak oak oak " + "the ".repeat(10).trim() },
    { _id: "another", text: "stone" },
];
for (const [name, stopwords] of [["with", []], ["without", ["the"]]]) {
    const { PUT, SEARCH } = await new SearchIndex({ name, Level: MemoryLevel, stopwords });
    await PUT(documents);
    const { RESULT } = await SEARCH(["oak"]);
    console.log(`${name} stop words, oak:`, RESULT.map(({ _id, _score }) => `${_id} ${_score}`).join(", "));
}
EOF
observed=$(node search.mjs)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
