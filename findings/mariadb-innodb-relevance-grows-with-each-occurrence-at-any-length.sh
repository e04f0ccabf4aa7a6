#!/usr/bin/env bash
# Guess: the relevance of MATCH ... AGAINST with InnoDB, of which the manual of MySQL says that it is based on BM25 and
# TF-IDF, rises less with each further occurrence of a word, and is lower in long texts.
# Behaviour: in MariaDB 10.11.18 (Debian 12) it is the number of occurrences times the square of log10(rows / rows with
# the word), and nothing else: five occurrences are five times one, and a text of 105 words scores like one of five.
# Why it matters: the longest documents, and those that repeat a word, come first, where BM25 has been taken for granted
# since its name is in the manual; b and k1 have nothing to be compared with.
# Source: MariaDB, storage/innobase/fts/fts0que.cc (fts_query_calculate_ranking: weight is freq * idf * idf).

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

expected='five in 105 words 0.792, five in five words 0.792, two in two words 0.317, one in one word 0.158'

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

filler=$(printf ' word%s' {1..100})
sql "CREATE DATABASE search;
    CREATE TABLE search.texts (name VARCHAR(40), body TEXT, FULLTEXT (body)) ENGINE = InnoDB;
    INSERT INTO search.texts VALUES ('one in one word', 'heat'), ('two in two words', 'heat heat'),
        ('five in five words', 'heat heat heat heat heat'), ('five in 105 words', 'heat heat heat heat heat$filler'),
        ('a', 'stone'), ('b', 'river'), ('c', 'forest'), ('d', 'table'), ('e', 'chair'), ('f', 'window');"
observed=$(sql "SELECT GROUP_CONCAT(name, ' ', score ORDER BY score DESC, name SEPARATOR ', ')
    FROM (SELECT name, ROUND(MATCH (body) AGAINST ('heat'), 3) AS score FROM search.texts) AS scored WHERE score > 0")
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
