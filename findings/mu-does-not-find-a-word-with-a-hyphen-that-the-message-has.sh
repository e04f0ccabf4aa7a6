#!/usr/bin/env bash
# Guess: mu find covid-19, the word as it stands in a message, finds the message; a hyphen is no operator of mu.
# Behaviour: mu of Debian 12 (package 1.8.14, which calls itself 1.8.13) indexes body and subject with Xapian's
# tokeniser, which parts covid-19 into covid and 19, and searches the word of the query whole, as the term covid-19,
# which the text of no message has. An address of e-mail in the text is lost too. Quotes and subject: do not help;
# "covid 19" with a blank and quotes finds it. Senders are found by their address.
# Why it matters: names of products, cases, compounds and addresses are what mail is searched for; the answer is that
# there is none. notmuch, which has Xapian below as well, finds them.
# Source: mu find --format=xquery (the query that is sent to Xapian), which the script prints.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download maildir-utils=1.8.14-1 libxapian30=1.4.22-1 libgmime-3.0-0=3.2.13+dfsg-2 guile-3.0-libs=3.0.8-2 \
    libgc1=1:8.2.2-3 libgpgme11=1.18.0-3+deb12u1 libassuan0=2.5.5-5
for package in *.deb; do
    dpkg -x "$package" .
done

expected='mu 1.8.13
query: Query((Tcovid-19 OR Ccovid-19 OR Hcovid-19 OR Fcovid-19 OR Scovid-19 OR Bcovid-19))
covid-19: none
"covid-19": none
subject:covid-19: none
covid 19: covid
"covid 19": covid
subject:"covid 19": covid
3.5: dose
jane.doe@example.com: none
"jane doe": contact
from:writer@example.com: contact covid dose'

export LD_LIBRARY_PATH="$folder/usr/lib/x86_64-linux-gnu"
mkdir -p mail/cur mail/new mail/tmp
message()
{
    printf 'From: writer@example.com\nTo: reader@example.com\n' > "mail/cur/$1:2,S"
    printf 'Date: Mon, 01 Jan 2024 10:00:00 +0000\n' >> "mail/cur/$1:2,S"
    printf 'Message-ID: <%s@example.com>\nSubject: %s\n\n%s\n' "$1" "$2" "$3" >> "mail/cur/$1:2,S"
}
message covid "COVID-19 report" "Numbers of covid-19 cases"
message contact "Contact" "Write to jane.doe@example.com"
message dose "Dose" "Take 3.5 grams"
mu()
{
    usr/bin/mu "$@" --muhome "$folder/index"
}
mu init --maildir "$folder/mail" > log 2>&1
mu index > log 2>&1

observed=$(usr/bin/mu --version | sed -n '1s/.* \([0-9.]*\)$/mu \1/p'
echo "query: $(mu find covid-19 --format xquery)"
for query in covid-19 '"covid-19"' subject:covid-19 "covid 19" '"covid 19"' 'subject:"covid 19"' 3.5 \
    jane.doe@example.com '"jane doe"' from:writer@example.com; do
    found=$(mu find "$query" --fields i --sortfield subject 2> log | sed 's/@.*//' | sort | paste -sd" ")
    echo "$query: ${found:-none}"
done)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
