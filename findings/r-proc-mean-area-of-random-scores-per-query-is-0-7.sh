#!/usr/bin/env bash
# Guess: roc and auc of R's package pROC give a ranking that is worse than chance an area below .5, and the mean over
# queries of random scores is .5.
# Behaviour: with direction = "auto", the default of pROC 1.18.0, the side of the relevant documents is chosen by the
# medians of the scores, and a list turned upside down has an area of 1. Over queries with two relevant documents of
# ten, random scores have a mean of .69; a ranker and its negative have the same. A message tells the direction, until
# it is silenced for a loop.
# Why it matters: the fewer relevant documents a query has, the more chance looks like skill, and a model with the wrong
# sign is taken for the best. With direction = "<" the areas are those of other libraries.
# Source: manual of pROC, roc (direction); R/roc.R.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 liblapack3=3.11.0-2 \
    r-base-core=4.2.2.20221110-2 r-cran-plyr=1.8.8-1 r-cran-rcpp=1.0.10-1 r-cran-proc=1.18.0-1+b1
for package in *.deb; do
    dpkg -x "$package" .
done
export R_HOME="$folder/usr/lib/R"
ln -sf Renviron.ucf "$R_HOME/etc/Renviron"
libraries="$folder/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$R_HOME/lib:$libraries:$libraries/blas:$libraries/lapack"

expected='pROC 1.18.0
relevant documents first: auto 1.00, direction < 1.00
relevant documents last: auto 1.00, direction < 0.00
500 queries of random scores: auto 0.69, direction < 0.50'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages(library(pROC))
cat("pROC ", as.character(packageVersion("pROC")), "\n", sep = "")
labels <- as.numeric(1:10 <= 2)
show <- function(name, lists) {
    mean_area <- function(direction) {
        mean(sapply(lists, function(scores) auc(roc(labels, scores, direction = direction, quiet = TRUE))))
    }
    cat(sprintf("%s: auto %.2f, direction < %.2f\n", name, mean_area("auto"), mean_area("<")))
}
show("relevant documents first", list(10:1))
show("relevant documents last", list(1:10))
set.seed(1)
show("500 queries of random scores", lapply(1:500, function(query) runif(10)))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
