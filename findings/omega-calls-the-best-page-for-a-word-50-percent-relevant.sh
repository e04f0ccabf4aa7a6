#!/usr/bin/env bash
# Guess: the percentage of Omega, the search page of Xapian, is relative to the best page or to the words of the query:
# of a query of one word the best page, which has it in its title and in its text, has 100 percent.
# Behaviour: the templates of Omega 1.4.22 search each word in title, text, topic and name of the file at once, as four
# terms, and Xapian's percentage is that of the terms that matched, of which most pages have one or two. The best page
# has 50 percent, a text with the word alone 10, while the same query of the text alone gives 97 and 100. A word that
# no page has lowers all percentages further.
# Why it matters: THRESHOLD, and readers, take these percentages for relevance: with 60 no query has an answer, and 20
# drops each page that has the word in its text alone.
# Source: Omega, templates/query and templates/xml (the map of prefixes), documentation of THRESHOLD; Xapian,
# Enquire::set_cutoff.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download xapian-omega=1.4.22-1 libxapian30=1.4.22-1
for package in *.deb; do
    dpkg -x "$package" .
done

expected='omega 1.4.22
forest, threshold 0: 50% title-and-text 10% text
forest, threshold 20: 50% title-and-text
forest, threshold 60: none
forest qwerty, threshold 0: 25% title-and-text 5% text
forest qwerty, threshold 20: 25% title-and-text
forest qwerty, threshold 60: none
forest, template without prefixes: 100% text 97% title-and-text'

export LD_LIBRARY_PATH="$folder/usr/lib/x86_64-linux-gnu"
mkdir pages
echo "<html><head><title>Forest</title></head><body>the old forests grow</body></html>" > pages/title-and-text.html
echo "<html><head><title>Report</title></head><body>the hill and the forest</body></html>" > pages/text.html
echo "<html><head><title>Lake</title></head><body>water of the lake</body></html>" > pages/none.html
usr/bin/omindex --db "$folder/index" --url / pages > log 2>&1
templates="$folder/usr/share/xapian-omega/templates"
for setting in "database_dir $folder" "template_dir $templates" "log_dir $folder" "cdb_dir $folder"; do
    echo "$setting"
done > omega.conf
sed '/^\$setmap{prefix,/d' "$templates/xml" > "$templates/plain"
omega()
{
    OMEGA_CONFIG_FILE=omega.conf usr/lib/cgi-bin/omega/omega "P=$1" DB=index "THRESHOLD=$2" "FMT=$3" "DEFAULTOP=or" \
        | sed -n 's/.*relevance="\([0-9]*%\)".*/\1/p; s/^url="\/\(.*\)\.html".*/\1/p' | paste -sd" "
}
observed=$(usr/bin/omindex --version | head -1 | sed 's/.*omega/omega/'
for query in forest "forest qwerty"; do
    for threshold in 0 20 60; do
        found=$(omega "$query" "$threshold" xml)
        echo "$query, threshold $threshold: ${found:-none}"
    done
done
echo "forest, template without prefixes: $(omega forest 0 plain)")
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
