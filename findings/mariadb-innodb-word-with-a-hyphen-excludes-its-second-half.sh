#!/usr/bin/env bash
# Guess: in boolean mode a hyphen inside a word is no operator, which stands before a word: `wing-body` finds the text
# "wing-body junction", whose words are wing and body.
# Behaviour: with a full-text index of InnoDB in MariaDB 10.11.18 (Debian 12) it is read as `wing -body`: just the texts
# that have both words are left out, and all others with the first one are found. `+wing-body +junction` finds nothing.
# A table of MyISAM takes both halves as words that may be there, and a phrase in quotation marks finds both spellings.
# Why it matters: words with a hyphen are everywhere (state-of-the-art, part-time, spin-off); the search returns
# the opposite of what was asked, with a full page of results, and the engine of the table decides it.
# Source: MariaDB, storage/innobase/fts/fts0blex.l and fts0pars.y (a minus ends a word and begins an operator).

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

expected='wing-body: InnoDB a wing alone, MyISAM a wing alone/alone a body/wing body junction/wing-body junction
+wing-body: InnoDB a wing alone, MyISAM a wing alone/wing body junction/wing-body junction
+wing-body +junction: InnoDB -, MyISAM wing body junction/wing-body junction
"wing-body": InnoDB wing body junction/wing-body junction, MyISAM wing body junction/wing-body junction'

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
        INSERT INTO $engine.texts VALUES ('wing-body junction'), ('wing body junction'), ('a wing alone'),
            ('alone a body'), ('stone'), ('river'), ('forest'), ('chair'), ('window');"
done
list="SELECT COALESCE(GROUP_CONCAT(body ORDER BY body SEPARATOR '/'), '-') FROM"
observed=$(for query in 'wing-body' '+wing-body' '+wing-body +junction' '"wing-body"'; do
    match="texts WHERE MATCH (body) AGAINST ('$query' IN BOOLEAN MODE)"
    sql "SELECT CONCAT('$query: InnoDB ', ($list InnoDB.$match), ', MyISAM ', ($list MyISAM.$match))"
done)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
