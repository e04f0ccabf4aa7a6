#!/usr/bin/env bash
# Guess: texts and queries go through the same tokeniser: a text with 3.5 is found by 3.5, as U.S. is by u.s.
# Behaviour: RediSearch 1.2.2 splits a text at the full stop, so that 3.5 is the words 3 and 5, while its query parser
# keeps 3.5 as one number and searches it as a word, which no index has. Python 3.11 finds nothing where python alone
# finds the text; quotes and a backslash do not help. The halves find it: 11, or 3 and 5, as they do in texts about 3
# and 5. A whole number is found, and letters with full stops, which both sides split, too.
# Why it matters: versions, prices and doses are what such queries are about, and words are joined by AND: one decimal
# number empties the list.
# Source: RediSearch, documentation of tokenization (marks that separate), src/query_parser/lexer.rl (number).

set -euo pipefail

folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; wait; rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download redis-redisearch=1:1.2.2-4 redis-server=5:7.0.15-1~deb12u10 redis-tools=5:7.0.15-1~deb12u10 \
    libatomic1=12.2.0-14+deb12u1 libjemalloc2=5.3.0-1 liblzf1=3.6-3
for package in *.deb; do
    dpkg -x "$package" .
done

expected='3.5: none
"3.5": none
3\.5: none
3 5: half-and-half, price
python 3.11: none
python: version
python 3 11: version
2020: year
u.s.: country'

export LD_LIBRARY_PATH="$folder/usr/lib/x86_64-linux-gnu:$folder/usr/lib:$folder/lib"
usr/bin/redis-server --port 0 --unixsocket "$folder/socket" --dir "$folder" --save "" \
    --loadmodule "$folder/usr/lib/redis/modules/redisearch.so" > server.log 2>&1 &
server=$!
for _ in {1..60}; do
    [ ! -S socket ] || break
    sleep 1
done

redis()
{
    usr/bin/redis-cli -s "$folder/socket" "$@"
}

add()
{
    redis ft.add texts "$1" 1 fields body "$2" > answer
}

redis ft.create texts schema body text > answer
add price "costs 3.5 dollars"
add half-and-half "3 of them and 5 others"
add version "released with python 3.11"
add year "since 2020"
add country "the U.S. economy"

observed=$(for query in 3.5 '"3.5"' '3\.5' "3 5" "python 3.11" python "python 3 11" 2020 u.s.; do
    found=$(redis ft.search texts "$query" nocontent | sed 1d | sort | paste -sd, | sed 's/,/, /g')
    echo "$query: ${found:-none}"
done)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
