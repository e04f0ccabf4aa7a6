#!/usr/bin/env bash
# Guess: the weight of a word falls smoothly with the number of documents that have it, and a word of every document
# counts least.
# Behaviour: RediSearch 1.2.2 takes logb of 1 + N/n, the exponent of the number as it is stored, a whole number: 1 for
# words of a half or more of the documents, whether all have it or half, 2 from a third down to 15 of 100, 3 from 14. A
# word of 14 documents counts half again as much as one of 15, and one of 15 as much as one of 33. BM25 has the same idf.
# Why it matters: words of a third and of all texts count one and two, so that frequent words never come near zero;
# a document that is added or deleted can move all scores of a word by half. Scores do not compare with those of others.
# Source: RediSearch, src/inverted_index.h (CalculateIDF: logb).

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

expected='documents: 100
TFIDF: all 1, of-51 1, of-50 1, of-33 2, of-15 2, of-14 3, of-7 3, of-6 4, of-1 6
BM25: all 0.31, of-51 0.31, of-50 0.31, of-33 0.61, of-15 0.61, of-14 0.92, of-7 0.92, of-6 1.2, of-1 1.8'

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
declare -A words=([all]=100 [of-51]=51 [of-50]=50 [of-33]=33 [of-15]=15 [of-14]=14 [of-7]=7 [of-6]=6 [of-1]=1)
order="all of-51 of-50 of-33 of-15 of-14 of-7 of-6 of-1"
for number in {1..100}; do
    text=
    for word in $order; do
        [ "$number" -gt "${words[$word]}" ] || text="$text ${word/-/}"
    done
    add "$number" "$text"
done

show()
{
    for word in $order; do
        score=$(redis ft.search texts "${word/-/}" verbatim withscores nocontent limit 0 1 scorer "$1" | sed -n 3p)
        printf '%s %.2g\n' "$word" "$score"
    done | paste -sd, | sed 's/,/, /g'
}

observed=$(echo "documents: $(redis ft.search texts all nocontent | sed -n 1p)"
for scorer in TFIDF BM25; do
    echo "$scorer: $(show "$scorer")"
done)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
