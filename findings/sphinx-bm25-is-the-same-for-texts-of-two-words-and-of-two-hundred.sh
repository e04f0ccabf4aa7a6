#!/usr/bin/env bash
# Guess: the BM25 of Sphinx ranks a short text with a word above a long one that has it as often.
# Behaviour: the ranker bm25 of Sphinx 2.2.11 has no length in it, nor has the factor bm25 of the default ranker and of
# expressions. bm25a(k1, b), which takes b and has lengths by its documentation, gives the same value to both as well,
# whatever b is, until the index is made with index_field_lengths, which is off and of which no warning tells.
# Why it matters: texts with the word as often are equal, and stay in the order of their ids; long texts have more words
# more often and come first. Tuning b moves nothing.
# Source: documentation of Sphinx 2.2, ranking factors (bm25a) and index_field_lengths; src/sphinxsearch.cpp.

set -euo pipefail

folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; wait; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download sphinxsearch=2.2.11-8+b1 libltdl7=2.4.7-7~deb12u1 libmariadb3=1:10.11.18-0+deb12u1 \
    libodbc2=2.3.11-2+deb12u1 libre2-9=20220601+dfsg-1+b1
for package in *.deb; do
    dpkg -x "$package" .
done
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pymysql==1.1.1

expected='Sphinx 2.2.11
plain, bm25: long with three 1751, long 1659, short 1659
plain, bm25a(1.2, 0): long with three 751, long 659, short 659
plain, bm25a(1.2, 0.75): long with three 819, long 770, short 770
lengths, bm25: long with three 1751, long 1659, short 1659
lengths, bm25a(1.2, 0): long with three 751, long 659, short 659
lengths, bm25a(1.2, 0.75): short 738, long with three 549, long 518'

"$folder/venv/bin/python" > texts.tsv <<'EOF'
print("1\tforest " + "other words " * 100)
print("2\tforest path")
print("3\t" + "forest " * 3 + "other words " * 100)
for document in range(4, 50):
    print(f"{document}\tlake shore")
EOF
cat > sphinx.conf <<EOF
source texts
{
    type = tsvpipe
    tsvpipe_command = cat $folder/texts.tsv
    tsvpipe_field = body
}
index plain
{
    source = texts
    path = $folder/plain
}
index lengths
{
    source = texts
    path = $folder/lengths
    index_field_lengths = 1
}
searchd
{
    listen = $folder/socket:mysql41
    pid_file = $folder/pid
    log = $folder/searchd.log
    binlog_path =
    workers = threads
}
EOF
libraries="$folder/usr/lib/x86_64-linux-gnu"
LD_LIBRARY_PATH="$libraries" usr/bin/indexer --config sphinx.conf --all > indexer.log
LD_LIBRARY_PATH="$libraries" usr/bin/searchd --config sphinx.conf --nodetach > server.log 2>&1 &
server=$!
for _ in {1..60}; do
    [ ! -S socket ] || break
    sleep 1
done
observed=$(sed -n '1s/-id.*//p' indexer.log
"$folder/venv/bin/python" - 2> "$folder/log" <<'EOF'
import pymysql

names = {1: "long", 2: "short", 3: "long with three"}
cursor = pymysql.connect(unix_socket="socket", charset="utf8").cursor()
for index in ("plain", "lengths"):
    for name in ("bm25", "bm25a(1.2, 0)", "bm25a(1.2, 0.75)"):
        ranker = f"expr('1000 * {name}')" if "(" in name else name
        cursor.execute(f"SELECT id, WEIGHT() FROM {index} WHERE MATCH('forest') OPTION ranker = {ranker}")
        print(f"{index}, {name}:", ", ".join(f"{names[document]} {weight}" for document, weight in cursor.fetchall()))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
