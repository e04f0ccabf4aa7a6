#!/usr/bin/env bash
# Guess: tokenize=porter stems English words; a number or a code is a word of the index as it stands.
# Behaviour: of a word with a digit and more than six characters, SQLite's FTS3 and FTS4 (3.46.1) keep the first three
# and the last three; of longer words without a digit, ten and ten. One query for an ISBN returns every book whose
# number begins and ends alike, and shorter numbers, too. FTS5's tokenizer porter keeps numbers whole.
# Why it matters: part numbers, ISBNs, dates and hashes share their first and last figures: the results hold documents
# that do not have the number, and highlighting shows them as matches.
# Source: SQLite, ext/fts3/fts3_porter.c (copy_stemmer).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check apsw==3.46.1.0

expected='fts4 9780131103627: 9780131103627 9789999999627 978627
fts4 20210315: 20210315 20219315
fts4 oak1: oak1
fts5 9780131103627: 9780131103627
fts5 20210315: 20210315
fts5 oak1: oak1'

observed=$("$folder/venv/bin/python" - <<'EOF'
import apsw

numbers = ["9780131103627", "9789999999627", "978627", "20210315", "20219315", "oak1", "oak2"]
for module in ("fts4", "fts5"):
    database = apsw.Connection(":memory:")
    option = "tokenize=porter" if module == "fts4" else "tokenize='porter'"
    database.execute(f"create virtual table texts using {module}(text, {option})")
    database.executemany("insert into texts values (?)", [(number,) for number in numbers])
    for query in ("9780131103627", "20210315", "oak1"):
        rows = database.execute("select text from texts where texts match ? order by rowid", (query,))
        print(f"{module} {query}:", *(text for (text,) in rows))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
