#!/usr/bin/env bash
# Guess: a text that has both words of a query is above one that has one of them twice, all the more with the ranker
# that is called bm25.
# Behaviour: in Sphinx 2.2.11 the weight by ranker bm25 is 1,000 for each field that has any word of the query (times
# the weight of the field) plus a BM25 between 0 and 999: a text with one word in title and body is above those with
# all words in the body. The default, proximity_bm25, does so too, unless the words stand in the order of the query.
# Why it matters: whoever picks bm25 to be rid of proximity ranks by the number of fields; copies of a title in a second
# field, or an empty one, move a text over all others. expr('bm25') has the BM25 alone.
# Source: documentation of Sphinx 2.2, "Built-in rankers" (bm25: sum(user_weight)*1000+bm25).

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
default: south: forest stone (2655); forest: forest (2595); north: stone and forest (1655)
bm25: forest: forest (2595); north: stone and forest (1655); south: forest stone (1655)
bm25 alone: north: stone and forest (655); south: forest stone (655); forest: forest (595)'

"$folder/venv/bin/python" > texts.tsv <<'EOF'
texts = [("forest", "forest"), ("north", "stone and forest"), ("south", "forest stone")]
texts += [("lake", "shore")] * 20
for document, (title, body) in enumerate(texts, 1):
    print(document, title, body, sep="\t")
EOF
cat > sphinx.conf <<EOF
source texts
{
    type = tsvpipe
    tsvpipe_command = cat $folder/texts.tsv
    tsvpipe_field_string = title
    tsvpipe_field_string = body
}
index plain
{
    source = texts
    path = $folder/plain
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

cursor = pymysql.connect(unix_socket="socket", charset="utf8").cursor()
for name in ("default", "bm25", "bm25 alone"):
    ranker = {"default": "proximity_bm25", "bm25": "bm25", "bm25 alone": "expr('bm25')"}[name]
    cursor.execute(f"SELECT title, body, WEIGHT() FROM plain WHERE MATCH('forest | stone') OPTION ranker = {ranker}")
    found = (f"{title}: {body} ({weight})" for title, body, weight in cursor.fetchall())
    print(f"{name}:", "; ".join(found))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
