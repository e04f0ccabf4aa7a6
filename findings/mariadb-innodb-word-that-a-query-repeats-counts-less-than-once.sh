#!/usr/bin/env bash
# Guess: a word that a query of MATCH ... AGAINST says twice counts twice, as in BM25 and in Lucene, or once.
# Behaviour: with a full-text index of InnoDB in MariaDB 10.11.18 (Debian 12) each repetition adds the documents of the
# word to its document frequency once more, and takes its weight down: for `heat` the text "heat transfer" has .273, for
# `heat heat` .049 and for `heat heat heat` .002, where the frequency has come near to the ten rows.
# Why it matters: queries that are questions, titles or whole texts repeat what they are about, and this is what counts
# least then: `heat flow` has the text with heat twice first, `heat heat flow` those of flow alone.
# Source: MariaDB, storage/innobase/fts/fts0que.cc (doc_count of a word, fts_query_calculate_idf).

set -euo pipefail

folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; wait; rm -rf "$folder"' EXIT
cd "$folder"
version=1:10.11.18-0+deb12u1
apt-get -qq download "mariadb-server=$version" "mariadb-server-core=$version" "mariadb-client-core=$version" \
    "libmariadb3=$version" liburing2=2.3-3 libaio1=0.3.113-4
for package in *.deb; do
    dpkg -x "$package" .
done

expected='heat: heat heat 0.547, heat transfer 0.273, plate heat 0.273
heat heat: heat heat 0.098, heat transfer 0.049, plate heat 0.049
heat heat heat: heat heat 0.004, heat transfer 0.002, plate heat 0.002
heat flow: heat heat 0.547, flow over wings 0.489, flow theory 0.489, heat transfer 0.273, plate heat 0.273
heat heat flow: flow over wings 0.489, flow theory 0.489, heat heat 0.098, heat transfer 0.049, plate heat 0.049'

export LD_LIBRARY_PATH="$folder/usr/lib/x86_64-linux-gnu"
mkdir data
usr/sbin/mariadbd --no-defaults --user="$(id -un)" --datadir="$folder/data" --socket="$folder/socket" \
    --skip-grant-tables --skip-networking --lc-messages-dir="$folder/usr/share/mysql" \
    --character-sets-dir="$folder/usr/share/mysql/charsets" > server.log 2>&1 &
server=$!
for _ in {1..60}; do
    [ ! -S socket ] || break
    sleep 1
done
sql() {
    usr/bin/mariadb --socket="$folder/socket" --skip-column-names --execute "$1"
}

sql "CREATE DATABASE search; CREATE TABLE search.texts (body VARCHAR(100), FULLTEXT (body)) ENGINE = InnoDB;
    INSERT INTO search.texts VALUES ('heat transfer'), ('heat heat'), ('flow theory'), ('flow over wings'),
        ('wing body'), ('plate heat'), ('other words'), ('more text'), ('stone'), ('river');"
observed=$(for query in 'heat' 'heat heat' 'heat heat heat' 'heat flow' 'heat heat flow'; do
    sql "SELECT CONCAT('$query: ', GROUP_CONCAT(body, ' ', score ORDER BY score DESC, body SEPARATOR ', '))
        FROM (SELECT body, ROUND(MATCH (body) AGAINST ('$query'), 3) AS score FROM search.texts) AS scored
        WHERE score > 0"
done)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
