#!/usr/bin/env bash
# Guess: search::score of SurrealDB is a BM25 as search engines have it: the more often and the shorter, the higher, and
# a word that most documents have counts little.
# Behaviour: in the SurrealDB that is embedded in surrealdb 2.0.0 (PyPI) a word of more than half of the documents has a
# weight below zero, and the whole order is turned around: ORDER BY score DESC has the long text that mentions it once
# first and the short one that is about it last. In three of ten documents, the word has the order the right way.
# Why it matters: the words of most documents are those that a collection is about, and its users ask for them. LIMIT
# 10 returns the ten worst; with a second word, of which all documents must have both, the common one pulls the wrong
# way.
# Source: SurrealDB 2, idx/ft/scorer.rs (logarithm of (N - n + 0.5) / (n + 0.5), without a floor).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check surrealdb==2.0.0

expected='forest in 6 of 10: long -0.17, short -0.48, about -0.90
forest in 3 of 10: about 1.73, short 0.94, long 0.30'

cd "$folder"
observed=$("$folder/venv/bin/python" - 2> "$folder/log" <<'EOF'
from surrealdb import Surreal

texts = {
    "about": "forest forest forest",
    "short": "forest path",
    "long": "a text of many other words that names the forest once and then the lake and the river",
}
for having in (6, 3):
    with Surreal("mem://") as database:
        database.use("texts", "texts")
        database.query("DEFINE ANALYZER words TOKENIZERS blank FILTERS lowercase")
        database.query("DEFINE TABLE text; DEFINE INDEX body ON text FIELDS body SEARCH ANALYZER words BM25(1.2, 0.75)")
        rows = texts | {f"other{i}": "forest of other words here" if i < having - 3 else "a lake" for i in range(7)}
        for name, body in rows.items():
            database.query(f"CREATE text:{name} SET body = '{body}'")
        found = database.query(
            "SELECT id, search::score(0) AS score FROM text WHERE body @0@ 'forest' ORDER BY score DESC"
        )
        scores = {row["id"].id: row["score"] for row in found}
        shown = ", ".join(f"{name} {score:.2f}" for name, score in scores.items() if name in texts)
        print(f"forest in {len(scores)} of {len(rows)}: {shown}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
