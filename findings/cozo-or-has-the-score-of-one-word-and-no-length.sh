#!/usr/bin/env bash
# Guess: full-text search of CozoDB ranks by the sum of the words of a query that a text has, as its scores of AND do,
# and a long text below a short one with the same words.
# Behaviour: in CozoDB 0.7.6 a text has by OR the score of its best word alone: of forest OR river the text with both
# is below the one that has forest three times and equal to any with river. By AND it has the sum. The length of a
# text has no part, and each further occurrence adds as much as the first: forest three times has thrice the score, in
# five words or in sixty.
# Why it matters: OR is what recall is asked with; the more words of the query a text has, the less it stands out, and
# the order is that of the text with the most repetitions of one word.
# Source: CozoDB's documentation, "Full-text search", names tf_idf and tf as the kinds of score and not how a query
# joins them.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pycozo==0.7.6 cozo-embedded==0.7.6

expected='forest: thrice 1.73; thrice, long 1.73; both 0.58; forest 0.58
forest AND river: both 1.74
forest OR river: thrice 1.73; thrice, long 1.73; both 1.16; river 1.16; forest 0.58'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from pycozo.client import Client

client = Client(dataframe=False)
client.run(":create texts {id: String => body: String}")
texts = {
    "forest": "forest",
    "both": "forest and river",
    "thrice": "forest forest forest here",
    "thrice, long": "forest forest forest " + "some other words " * 20,
    "river": "river",
    "none": "stone",
    "other": "lake",
}
for name, body in texts.items():
    client.run("?[id, body] <- [[$id, $body]] :put texts {id => body}", {"id": name, "body": body})
client.run("::fts create texts:words {extractor: body, tokenizer: Simple, filters: [Lowercase]}")
for query in ("forest", "forest AND river", "forest OR river"):
    script = "?[score, id] := ~texts:words {id, | query: $query, k: 10, bind_score: score} :order -score, id"
    found = client.run(script, {"query": query})["rows"]
    print(f"{query}: {'; '.join(f'{name} {score:.2f}' for score, name in found)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
