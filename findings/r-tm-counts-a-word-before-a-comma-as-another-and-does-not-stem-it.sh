#!/usr/bin/env bash
# Guess: a DocumentTermMatrix of R's package tm has words without the marks around them, as the matrix of scikit-learn
# has, and stemDocument stems each word.
# Behaviour: tm 0.7-11 splits at white space, and takes marks off where it is asked to, first of all. By default
# "forests,", "forests." and "forests" are three terms. stemming = TRUE stems the last alone, since Snowball gets the
# others with their marks, and stemDocument in tm_map does the same. With removePunctuation the stop words are looked up
# after the apostrophes are gone: don't and can't are in the list, dont and cant are not, and stay.
# Why it matters: the words at the end of a sentence, which are often the nouns, are other terms in texts than in
# queries, and idf takes them for rare. The right order is stop words, marks, stems, by hand, with tm_map.
# Source: manual of tm, termFreq (tokenize = "words", the order of the steps in control) and stemDocument.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 liblapack3=3.11.0-2 \
    r-base-core=4.2.2.20221110-2 r-cran-nlp=0.2-1-1 r-cran-slam=0.1-50-1 r-cran-xml2=1.3.3-1+b1 \
    r-cran-rcpp=1.0.10-1 r-cran-snowballc=0.7.0-1+b1 r-cran-tm=0.7-11-1
for package in *.deb; do
    dpkg -x "$package" .
done
export R_HOME="$folder/usr/lib/R"
ln -sf Renviron.ucf "$R_HOME/etc/Renviron"
libraries="$folder/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$R_HOME/lib:$libraries:$libraries/blas:$libraries/lapack"

expected="tm 0.7.11
default: and can't. dead don't forests forests, forests. old there, walk you young
stemming: and can't. dead don't forest forests, forests. old there, walk you young
stop words: can't. dead forests forests, forests. old there, walk young
marks and stop words: cant dead dont forests old walk young
stemDocument: Old forests, young forest and dead forests. Don't walk there, you can't."

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages(library(tm))
cat("tm ", as.character(packageVersion("tm")), "\n", sep = "")
texts <- VCorpus(VectorSource("Old forests, young forests and dead forests. Don't walk there, you can't."))
show <- function(name, ...) {
    cat(name, ": ", paste(Terms(DocumentTermMatrix(texts, ...)), collapse = " "), "\n", sep = "")
}
show("default")
show("stemming", control = list(stemming = TRUE))
show("stop words", control = list(stopwords = TRUE))
show("marks and stop words", control = list(removePunctuation = TRUE, stopwords = TRUE))
cat("stemDocument: ", as.character(tm_map(texts, stemDocument)[[1]]), "\n", sep = "")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
