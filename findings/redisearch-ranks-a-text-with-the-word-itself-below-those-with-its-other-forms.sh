#!/usr/bin/env bash
# Guess: a query for dogs finds dog too, by the stem, and puts a text with dogs itself first, or gives both one score.
# Behaviour: RediSearch 1.2.2 searches the word, its stem and the mark of that stem; a text with dogs has two of these at
# one place, and scores are divided by the distance of what matched, which is ten for two at one place. The text with
# dogs has a fifth of the score of the text with dog, economy less than a quarter of that of economies, and the best
# texts for running are those with run and runs. With VERBATIM the word alone is searched.
# Why it matters: every word that is not its own stem is concerned, -y and -e at the end included; the texts that have
# what was asked are at the end of the list, and a list that is cut may have none of them.
# Source: RediSearch, src/ext/default.c (StemmerExpander; the scores are divided by GetSlop), src/index_result.c.

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

expected='dog: dogs 4, dog 4; verbatim: dog 4
dogs: dog 4, dogs 0.8; verbatim: dogs 4
economy: economies 3, economy 0.7; verbatim: economy 4
running: run 4, runs 3, running 0.7; verbatim: running 4'

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
for word in dog dogs economy economies run running runs pad{1..9}; do
    add "$word" "$word"
done

show()
{
    redis ft.search texts "$@" withscores nocontent scorer TFIDF | sed 1d | while read -r name; do
        read -r score
        printf '%s %.2g\n' "$name" "$score"
    done | paste -sd, | sed 's/,/, /g'
}

observed=$(for word in dog dogs economy running; do
    echo "$word: $(show "$word"); verbatim: $(show "$word" verbatim)"
done)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
