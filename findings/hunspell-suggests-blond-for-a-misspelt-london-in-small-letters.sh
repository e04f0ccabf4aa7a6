#!/usr/bin/env bash
# Guess: Hunspell suggests the name where a query has a misspelt name in small letters: londn is London, einstien is
# Einstein; what is in small letters is only ranked otherwise.
# Behaviour: Hunspell 1.7.1 with the English dictionary of Debian 12 tries its edits in the case that was typed, which
# names in the dictionary do not have. What remains is likeness of letters: londn is blond alone, einstien einsteinium,
# califonia californium, chigaco chigoe (a flea), eurpoe purpose, facebok boldface. With a capital the name is the first
# or second suggestion for each of them. A word that is no misspelling fails alike: paris is pairs first.
# Why it matters: queries are typed in small letters, and names are what they are about; a search that asks "did you
# mean" or rewrites by the first suggestion turns to another matter. Try the word with a capital too.
# Source: Hunspell, suggestmgr.cxx (edits are checked as typed; ngsuggest); the output of the script.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download hunspell=1.7.1-1 libhunspell-1.7-0=1.7.1-1 hunspell-en-us=1:2020.12.07-2
for package in *.deb; do
    dpkg -x "$package" .
done

expected='Hunspell 1.7.1
londn: blond; Londn: Lond, London
einstien: einsteinium; Einstien: Einstein, Eisenstein
califonia: californium; Califonia: California, Catalonia
chigaco: chigoe; Chigaco: Chicago
washigton: washing; Washigton: Washington, Washing
germnay: germ nay, germ-nay; Germnay: Germany, Germ nay
eurpoe: purpose; Eurpoe: Europe
facebok: boldface; Facebok: Facebook, Boldface
paris: pairs, Paris; Paris: right'

export LD_LIBRARY_PATH="$folder/usr/lib/x86_64-linux-gnu"
suggestions()
{
    usr/bin/hunspell -d "$folder/usr/share/hunspell/en_US" -a <<< "$1" | sed -n 's/^\*$/right/p; s/^& [^:]*: //p' \
        | cut -d, -f1-2
}
observed=$(usr/bin/hunspell --version | sed -n '1s/.*Hunspell \([0-9.]*\).*/Hunspell \1/p'
for word in londn einstien califonia chigaco washigton germnay eurpoe facebok paris; do
    echo "$word: $(suggestions "$word"); ${word^}: $(suggestions "${word^}")"
done)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
