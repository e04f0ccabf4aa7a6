#!/usr/bin/env bash
# Guess: groupKFold of R's caret with k = 5 makes five folds of about as many queries each, and without k one fold for
# each query, as leave-one-out does.
# Behaviour: caret 6.0.93 draws the number of a fold for each query on its own, with replacement. Of 50 queries in five
# folds the folds have 7 to 13; of 10 queries three to five folds remain, the smallest of one query. Without k ten
# queries give five to eight folds, of up to three queries. Nothing tells that there are fewer.
# Why it matters: the mean over folds weighs the query that is alone in its fold as much as four others in theirs, and
# the five folds, or the one query that is left out, of the paper were others. createFolds balances its folds.
# Source: caret, R/createDataPartition.R (groupKFold: sample(k, size = m, replace = TRUE)); manual of groupKFold (k: an
# integer for the number of folds).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 liblapack3=3.11.0-2 r-base-core=4.2.2.20221110-2 \
    r-cran-caret=6.0-93+dfsg-1 r-cran-class=7.3-21-1 r-cran-cli=3.6.0-1 r-cran-codetools=0.2-19-1 \
    r-cran-colorspace=2.1-0+dfsg-1 r-cran-data.table=1.14.8+dfsg-1 r-cran-digest=0.6.31-1 r-cran-dplyr=1.0.10-1 \
    r-cran-fansi=1.0.4-1 r-cran-foreach=1.5.2-1 r-cran-future=1.31.0+dfsg-1 r-cran-future.apply=1.10.0+dfsg-1 \
    r-cran-generics=0.1.3-1 r-cran-ggplot2=3.4.1+dfsg-1 r-cran-globals=0.16.2-1 r-cran-glue=1.6.2-1 \
    r-cran-gower=1.0.1-1 r-cran-gtable=0.3.1+dfsg-1 r-cran-hardhat=1.2.0+dfsg-1 r-cran-ipred=0.9-13-1 \
    r-cran-iterators=1.0.14-1 r-cran-lattice=0.20-45-3 r-cran-lava=1.7.2.1+dfsg-1 r-cran-lifecycle=1.0.3+dfsg-1 \
    r-cran-listenv=0.9.0+dfsg-1 r-cran-lubridate=1.9.2+dfsg-1 r-cran-magrittr=2.0.3-1 r-cran-mass=7.3-58.2-1 \
    r-cran-matrix=1.5-3-1 r-cran-modelmetrics=1.2.2.2-1+b1 r-cran-munsell=0.5.0-2 r-cran-nlme=3.1.162-1 \
    r-cran-nnet=7.3-18-1 r-cran-parallelly=1.34.0-1 r-cran-pillar=1.8.1+dfsg-1 r-cran-pkgconfig=2.0.3-2 \
    r-cran-plyr=1.8.8-1 r-cran-proc=1.18.0-1+b1 r-cran-prodlim=2019.11.13-1+b1 r-cran-purrr=1.0.1-1 r-cran-r6=2.5.1-1 \
    r-cran-rcpp=1.0.10-1 r-cran-recipes=1.0.4+dfsg-1 r-cran-reshape2=1.4.4-2 r-cran-rlang=1.0.6-1 \
    r-cran-rpart=4.1.19-1 r-cran-scales=1.2.1-1 r-cran-stringi=1.7.12-1 r-cran-stringr=1.5.0-1 r-cran-survival=3.5-3-1 \
    r-cran-tibble=3.1.8+dfsg-1 r-cran-tidyselect=1.2.0+dfsg-1 r-cran-timechange=0.2.0-1 r-cran-timedate=4022.108-1 \
    r-cran-utf8=1.2.3-1 r-cran-vctrs=0.5.2-1 r-cran-withr=2.5.0-1
for package in *.deb; do
    dpkg -x "$package" .
done
export R_HOME="$folder/usr/lib/R"
ln -sf Renviron.ucf "$R_HOME/etc/Renviron"
libraries="$folder/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$R_HOME/lib:$libraries:$libraries/blas:$libraries/lapack"

expected='caret 6.0.93
seed 1, 50 queries, k = 5: 8 8 9 12 13
seed 1, 10 queries, k = 5: 3 3 4
seed 1, 10 queries: 1 1 1 1 2 2 2
seed 2, 50 queries, k = 5: 8 9 9 12 12
seed 2, 10 queries, k = 5: 1 1 1 3 4
seed 2, 10 queries: 1 1 2 3 3
seed 3, 50 queries, k = 5: 7 10 11 11 11
seed 3, 10 queries, k = 5: 1 1 2 2 4
seed 3, 10 queries: 1 1 1 1 1 1 2 2'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages(library(caret))
say <- function(...) cat(..., "\n", sep = "")
say("caret ", as.character(packageVersion("caret")))
sizes <- function(queries, ...) {
    group <- rep(seq_len(queries), each = 10)
    folds <- groupKFold(group, ...)
    sort(sapply(folds, function(rows) length(unique(group[-rows]))))
}
for (seed in 1:3) {
    set.seed(seed)
    say("seed ", seed, ", 50 queries, k = 5: ", paste(sizes(50, k = 5), collapse = " "))
    say("seed ", seed, ", 10 queries, k = 5: ", paste(sizes(10, k = 5), collapse = " "))
    say("seed ", seed, ", 10 queries: ", paste(sizes(10), collapse = " "))
}
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
