#!/usr/bin/env bash
# Guess: among the texts for forest|river a text with both words is above those with one of them, and words next to each
# other add something.
# Behaviour: RediSearch 1.2.2 divides the score of a text by the distance of the words that match, OR or not: where the
# two words are equally rare and the second stands two places behind the first, the text with both is as good as one
# with a single word, with more words between it is below it, and twenty places apart it has a tenth of that score.
# TFIDF, the default, and BM25 both do so.
# Why it matters: the longer the texts, the more of those with all the words of a question end below texts with one of
# them; queries expanded with OR lose most. Only words side by side gain from each other.
# Source: RediSearch, documentation of scoring (TFIDF is divided by the minimal distance of the matched terms),
# src/ext/default.c (GetSlop of unions too).

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

expected='TFIDF: side by side 2, two apart 1, one 1, three apart 0.67, five apart 0.4, twenty apart 0.1
BM25: side by side 0.43, two apart 0.21, one 0.21, three apart 0.14, five apart 0.085, twenty apart 0.021'

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
fill()
{
    seq -f "word%g" -s " " "$1"
}

add "one" "forest $(fill 19)"
add "side by side" "forest river"
add "two apart" "forest $(fill 1) river"
add "three apart" "forest $(fill 2) river"
add "five apart" "forest $(fill 4) river"
add "twenty apart" "forest $(fill 19) river"
for number in {1..6}; do
    add "other $number" "lake"
done

show()
{
    redis ft.search texts "forest|river" withscores nocontent scorer "$1" | sed 1d | while read -r name; do
        read -r score
        printf '%s %.2g\n' "$name" "$score"
    done | paste -sd, | sed 's/,/, /g'
}

observed=$(for scorer in TFIDF BM25; do
    echo "$scorer: $(show "$scorer")"
done)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
