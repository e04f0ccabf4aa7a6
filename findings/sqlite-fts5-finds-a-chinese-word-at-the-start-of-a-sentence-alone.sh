#!/usr/bin/env bash
# Guess: unicode61, the default tokenizer of SQLite's FTS5, which follows Unicode, splits Chinese and Japanese into
# characters, as Lucene's StandardAnalyzer does, or Thai into syllables; a word finds the sentences that have it.
# Behaviour: in SQLite 3.54.1 (apsw) every run of letters is one word, up to the next space or mark: a sentence without
# spaces is one word of the index. A query finds the whole sentence, with a star the beginning of one, and nothing
# inside it. Korean, with spaces, is found without its particles by a star alone.
# Why it matters: the search of notes, messages and mails in many apps is FTS5: a Chinese, Japanese or Thai user finds
# what stands behind a space or a mark, now and then, and takes the rest for not there.
# Source: SQLite, ext/fts5/fts5_tokenize.c (unicode61: letters and numbers of Unicode are token characters).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check apsw==3.54.1.0

expected='搜索: 我喜欢 搜索 引擎 (3 texts have it)
搜索*: 搜索引擎很有用; 我喜欢 搜索 引擎 (3 texts have it)
喜欢*: None (2 texts have it)
東京: None (1 texts have it)
東京*: 東京で働く (1 texts have it)
ประเทศไทย: None (1 texts have it)
서울: None (1 texts have it)
서울*: 서울에서 일한다 (1 texts have it)'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import apsw

database = apsw.Connection(":memory:")
database.execute("create virtual table notes using fts5(text)")
texts = ("我喜欢搜索引擎", "搜索引擎很有用", "我喜欢 搜索 引擎", "東京で働く", "ฉันรักประเทศไทย", "서울에서 일한다")
database.executemany("insert into notes values (?)", ((text,) for text in texts))
for query in ("搜索", "搜索*", "喜欢*", "東京", "東京*", "ประเทศไทย", "서울", "서울*"):
    found = [text for (text,) in database.execute("select text from notes(?) order by rowid", (query,))]
    there = sum(query.rstrip("*") in text for text in texts)
    print(f"{query}: {'; '.join(found) or None} ({there} texts have it)")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
