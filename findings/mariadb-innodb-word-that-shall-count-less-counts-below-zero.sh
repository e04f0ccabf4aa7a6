#!/usr/bin/env bash
# Guess: `<` before a word of a query in boolean mode makes the word count less than others, as the manual says: for
# `flow <wing` a text with both words is above one with flow alone, which is above one with wing alone.
# Behaviour: with a full-text index of InnoDB in MariaDB 10.11.18 (Debian 12) `<` takes 1 from the score of a text with
# the word, and `>` adds one, whatever the word is worth, here .427 for each: both words are below flow alone, and wing
# alone has a score below zero, which WHERE MATCH takes for a match. MyISAM has the expected order.
# Why it matters: who writes a weak word to break ties sorts the best documents down with it; and one added to scores
# that are the square of a logarithm is everything in a small table and nothing in a large one.
# Source: MariaDB, storage/innobase/fts/fts0que.cc (RANK_UPGRADE is 1, RANK_DOWNGRADE is -1).

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

expected='flow <wing: InnoDB flow 0.427, flow wing -0.147, wing -0.573; MyISAM flow wing, flow, wing
flow >wing: InnoDB flow wing 1.853, wing 1.427, flow 0.427; MyISAM flow wing, wing, flow'

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

for engine in InnoDB MyISAM; do
    sql "CREATE DATABASE $engine;
        CREATE TABLE $engine.texts (body VARCHAR(100), FULLTEXT (body)) ENGINE = $engine;
        INSERT INTO $engine.texts VALUES ('flow wing'), ('flow'), ('wing'), ('stone'), ('river'), ('forest'), ('chair'),
            ('window'), ('table');"
done
observed=$(for query in 'flow <wing' 'flow >wing'; do
    match="MATCH (body) AGAINST ('$query' IN BOOLEAN MODE)"
    scored="(SELECT body, ROUND($match, 3) AS score FROM"
    innodb="SELECT GROUP_CONCAT(body, ' ', score ORDER BY score DESC SEPARATOR ', ') FROM $scored InnoDB.texts"
    myisam="SELECT GROUP_CONCAT(body ORDER BY score DESC SEPARATOR ', ') FROM $scored MyISAM.texts"
    found="WHERE $match) AS found"
    sql "SELECT CONCAT('$query: InnoDB ', ($innodb $found), '; MyISAM ', ($myisam $found))"
done)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
