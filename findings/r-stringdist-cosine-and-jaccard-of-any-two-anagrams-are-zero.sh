#!/usr/bin/env bash
# Guess: the distances of q-grams of stringdist, qgram, cosine and jaccard, compare pairs or triples of letters, as
# trigram search and pg_trgm do: listen and silent are far apart, a reordered number too.
# Behaviour: stringdist 0.9.10 has q = 1 as its default: sets and counts of letters. Any two anagrams have the distance
# 0 and stringsim 1 by all three, among them 1234 and 4321, 2019 and 2091, covid 19 and covid 91; two texts of the same
# letters have jaccard 0 whatever their lengths, 10 and 1001. With q = 2 they are apart, as by edit distances.
# Why it matters: identifiers, years, codes and prices are what is linked with it, with a cutoff or by the nearest; the
# distance of zero says that they are the same. Those who compare methods by figures compare bags of letters.
# Source: stringdist, documentation of stringdist (q = 1) and of stringdist-metrics.

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
listen, silent: qgram 0 cosine 0 jaccard 0 osa 4; q = 2: qgram 8 cosine 0.80 jaccard 0.89
1234, 4321: qgram 0 cosine 0 jaccard 0 osa 3; q = 2: qgram 6 cosine 1 jaccard 1
covid 19, covid 91: qgram 0 cosine 0 jaccard 0 osa 1; q = 2: qgram 4 cosine 0.29 jaccard 0.44
10, 1001: qgram 2 cosine 0 jaccard 0 osa 2; q = 2: qgram 2 cosine 0.42 jaccard 0.67
nearest of 2019: by jaccard 2091, by osa 2018'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages(library(stringdist))
cat("stringdist ", as.character(packageVersion("stringdist")), "\n", sep = "")
show <- function(methods, a, b, q) {
    values <- sapply(methods, function(method) stringdist(a, b, method = method, q = q, nthread = 1))
    paste(methods, sub("\\.00$", "", sprintf("%.2f", abs(values))), collapse = " ")
}
grams <- c("qgram", "cosine", "jaccard")
for (pair in list(c("listen", "silent"), c("1234", "4321"), c("covid 19", "covid 91"), c("10", "1001"))) {
    a <- pair[1]
    b <- pair[2]
    cat(a, ", ", b, ": ", show(c(grams, "osa"), a, b, 1), "; q = 2: ", show(grams, a, b, 2), "\n", sep = "")
}
stopifnot(formals(stringdist)$q == 1)
years <- c("2018", "2091", "2119")
nearest <- function(method) years[which.min(stringdist("2019", years, method = method, nthread = 1))]
cat("nearest of 2019: by jaccard ", nearest("jaccard"), ", by osa ", nearest("osa"), "\n", sep = "")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
