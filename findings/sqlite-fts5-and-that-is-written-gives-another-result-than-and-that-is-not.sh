#!/usr/bin/env bash
# Guess: words side by side are joined by AND in a query of FTS5: whether AND is written or left out makes no
# difference.
# Behaviour: in SQLite 3.51.1 the AND that is left out binds before every operator, NOT as well, and the written one
# after NOT. "oak NOT pine elm" is oak without documents that have both pine and elm; "oak NOT pine AND elm" is oak
# without pine, and with elm. A plus between words makes a phrase of them.
# Why it matters: queries that are put together by a program (a filter of words behind what was typed) find other
# documents than those that were tried by hand, without an error, and an exclusion no longer excludes.
# Source: SQLite, documentation of FTS5, boolean operators (implicit AND operators group more tightly than all other
# operators).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pysqlite3-binary==0.5.4.post2

expected='oak NOT pine elm: oak, oak pine, oak elm, pine oak
oak NOT pine AND elm: oak elm
oak pine: oak pine, oak pine elm, pine oak
oak AND pine: oak pine, oak pine elm, pine oak
oak + pine: oak pine, oak pine elm'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from pysqlite3 import connect

base = connect(":memory:")
base.execute("create virtual table t using fts5(x)")
texts = ["oak", "oak pine", "oak elm", "oak pine elm", "elm pine", "pine oak"]
base.executemany("insert into t values (?)", [[text] for text in texts])
for query in ("oak NOT pine elm", "oak NOT pine AND elm", "oak pine", "oak AND pine", "oak + pine"):
    rows = base.execute("select x from t where t match ? order by rowid", [query]).fetchall()
    print(f"{query}:", ", ".join(text for text, in rows))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
