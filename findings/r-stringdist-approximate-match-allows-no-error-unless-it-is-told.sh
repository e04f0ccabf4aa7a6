#!/usr/bin/env bash
# Guess: amatch and ain, the approximate forms of match and %in% of R, find a word with one typing error.
# Behaviour: stringdist 0.9.10 has maxDist = 0.1 as the default of all methods: an edit distance, osa among them, which
# is the default, is a whole number, and nothing but the word itself is within 0.1. forset does not find forest, Forest
# does not find forest; the answer is NA, as for a word that is far from all. With maxDist = 1 they are found. By jw,
# which is between 0 and 1, the same 0.1 has a meaning.
# Why it matters: joins and lists that are cleaned with it are exact joins that look fuzzy; what is left without a match
# is taken for unknown.
# Source: stringdist, documentation of amatch (maxDist = 0.1).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 libgomp1=12.2.0-14+deb12u1 liblapack3=3.11.0-2 \
    r-base-core=4.2.2.20221110-2 r-cran-stringdist=0.9.10-1
for package in *.deb; do
    dpkg -x "$package" .
done
export R_HOME="$folder/usr/lib/R"
ln -sf Renviron.ucf "$R_HOME/etc/Renviron"
libraries="$folder/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$R_HOME/lib:$libraries:$libraries/blas:$libraries/lapack"

expected='stringdist 0.9.10
default: forest forest, forset NA, Forest NA, rivers NA
maxDist = 1: forest forest, forset forest, Forest forest, rivers river
method jw: forest forest, forset forest, Forest NA, rivers river
ain forset: FALSE'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages(library(stringdist))
cat("stringdist ", as.character(packageVersion("stringdist")), "\n", sep = "")
table <- c("forest", "lake", "river")
show <- function(name, ...) {
    words <- c("forest", "forset", "Forest", "rivers")
    found <- table[amatch(words, table, nthread = 1, ...)]
    cat(name, ": ", paste(words, ifelse(is.na(found), "NA", found), collapse = ", "), "\n", sep = "")
}
show("default")
show("maxDist = 1", maxDist = 1)
show("method jw", method = "jw")
cat("ain forset: ", ain("forset", table, nthread = 1), "\n", sep = "")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
