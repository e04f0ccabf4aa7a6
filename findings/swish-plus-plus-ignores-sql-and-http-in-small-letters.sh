#!/usr/bin/env bash
# Guess: SWISH++ indexes each word of a text that is no stop word and not too short, and its search takes no account of
# capitals.
# Behaviour: SWISH++ 6.1.5 takes what has no vowel or more consonants in a row than its limit for no word, and digits
# for neither. SQL in capitals is taken for an acronym and indexed, sql in small letters is not, and as a query it is
# ignored whatever the texts have; so are html, http, xml, mysql, rhythm, mp3, b12 and all numbers. A query of such a
# word beside another is answered for the other alone.
# Why it matters: the names of standards, codes, doses and years are what technical texts are searched for, and are
# typed in small letters. nginx, nato and covid19 are found, so a test may not show it.
# Source: SWISH++, the manual of index++ (what is a word); search++ names the words that it ignored in its results.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download swish++=6.1.5-6
dpkg -x swish++_*.deb .

expected='SWISH++ 6.1.5
pages: capitals small
sql: none; ignored: sql
SQL: capitals
html: none; ignored: html
HTML: capitals
html pages: capitals small; ignored: html
xml: none; ignored: xml
mysql: none; ignored: mysql
nginx: names
rhythm: none; ignored: rhythm
mp3: none; ignored: mp3
1984: none; ignored: 1984
b12: none; ignored: b12
covid19: numbers
nato: numbers'

mkdir texts
echo "pages of html over http with sql" > texts/small.txt
echo "pages of HTML over HTTP with SQL" > texts/capitals.txt
echo "xml and mysql and nginx; the rhythm of an mp3" > texts/names.txt
echo "born in 1984, vitamin b12, covid19 and nato" > texts/numbers.txt
usr/bin/index++ -v 0 -e 'text:*.txt' texts > log 2>&1
observed=$(usr/bin/search++ -V 2>&1 | head -1
for query in pages sql SQL html HTML "html pages" xml mysql nginx rhythm mp3 1984 b12 covid19 nato; do
    usr/bin/search++ "$query" > answer
    ignored=$(sed -n 's/^# ignored: //p' answer)
    found=$(sed -n 's/^[0-9]* .* \([a-z]*\)\.txt$/\1/p' answer | sort | paste -sd" ")
    echo "$query: ${found:-none}${ignored:+; ignored: $ignored}"
done)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
