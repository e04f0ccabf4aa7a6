#!/usr/bin/env bash
# Guess: a stop word or a word that is too short for the index is dropped from a query in boolean mode, also where a
# plus asks for it: `+flow +over +a +wing` finds what `+flow +over +wing` finds, as it does in tables of MyISAM.
# Behaviour: with a full-text index of InnoDB in MariaDB 10.11.18 (Debian 12) the word is looked up, is in no document,
# and the result is empty. The 36 stop words are those of English, with de, la, und, www and com; words of one and two
# letters are not indexed either.
# Why it matters: programs put a plus before each word of a query to have all of them: a query with "the", "vitamin C"
# or "de la Cruz" finds nothing then, and nothing says why. The same words as a phrase are found.
# Source: MariaDB, storage/innobase/fts/fts0que.cc (FTS_EXIST); information_schema.INNODB_FT_DEFAULT_STOPWORD.

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

expected='+flow +over +wing: InnoDB 1, MyISAM 1
+flow +over +a +wing: InnoDB 0, MyISAM 1
+vitamin +c: InnoDB 0, MyISAM 1
+de +la +cruz: InnoDB 0, MyISAM 1
"flow over a wing": InnoDB 1, MyISAM 1'

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
        INSERT INTO $engine.texts VALUES ('flow over a wing'), ('dose of vitamin c'), ('de la cruz'), ('stone');"
done
queries=('+flow +over +wing' '+flow +over +a +wing' '+vitamin +c' '+de +la +cruz' '"flow over a wing"')
observed=$(for query in "${queries[@]}"; do
    match="texts WHERE MATCH (body) AGAINST ('$query' IN BOOLEAN MODE)"
    sql "SELECT CONCAT('$query: InnoDB ', (SELECT COUNT(*) FROM InnoDB.$match),
        ', MyISAM ', (SELECT COUNT(*) FROM MyISAM.$match))"
done)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
