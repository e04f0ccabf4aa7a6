#!/usr/bin/env bash
# Guess: with cv.folds, cv.fitted of R's gbm is the prediction of each row by the model that was trained without its
# fold; for a ranker, without its query. On features that say nothing it ranks as well as chance.
# Behaviour: for `pairwise` gbm 2.1.8.1 shuffles the queries before it makes the folds, and predicts the rows of the
# frame as it was given by these folds: row 7 gets the model that left out the seventh of the shuffled rows, which for
# four documents of five was trained on row 7. On random features cv.fitted has an nDCG of up to .73 where chance has
# .63. cv.error is right.
# Why it matters: out-of-fold scores feed a second stage, an ensemble, a calibration, a test of significance. These have
# seen the labels, and documents of one query have scores of several models, so that their order mixes scales.
# Source: gbm, R/gbm-internals.R (gbmCrossVal: predictions of data[i.train, ] by cv.group, which is in the order of the
# shuffled x and y).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 liblapack3=3.11.0-2 \
    r-base-core=4.2.2.20221110-2 r-cran-lattice=0.20-45-3 r-cran-matrix=1.5-3-1 r-cran-survival=3.5-3-1 \
    r-cran-gbm=2.1.8.1-1
for package in *.deb; do
    dpkg -x "$package" .
done
export R_HOME="$folder/usr/lib/R"
ln -sf Renviron.ucf "$R_HOME/etc/Renviron"
libraries="$folder/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$R_HOME/lib:$libraries:$libraries/blas:$libraries/lapack"

expected='gbm 2.1.8.1
ndcg of random scores: 0.63
seed 1, ndcg of cv.fitted: 0.73, 1 - cv.error: 0.65
seed 2, ndcg of cv.fitted: 0.67, 1 - cv.error: 0.63
seed 3, ndcg of cv.fitted: 0.72, 1 - cv.error: 0.62'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages(library(gbm))
say <- function(...) cat(..., "\n", sep = "")
say("gbm ", as.character(packageVersion("gbm")))
set.seed(1)
data <- data.frame(query = rep(sprintf("q%03d", 1:200), each = 10))
data$first <- runif(nrow(data))
data$second <- runif(nrow(data))
data$label <- rbinom(nrow(data), 1, 0.3)

ndcg <- function(scores) gbm:::perf.pairwise(data$label, scores, data$query, "ndcg")
say(sprintf("ndcg of random scores: %.2f", ndcg(runif(nrow(data)))))
for (seed in 1:3) {
    set.seed(seed)
    sink(nullfile())
    model <- gbm(
        label ~ first + second, list(name = "pairwise", metric = "ndcg", group = "query"), data,
        n.trees = 50, interaction.depth = 8, n.minobsinnode = 1, bag.fraction = 1, cv.folds = 5, n.cores = 1
    )
    sink()
    held <- 1 - model$cv.error[50]
    say(sprintf("seed %d, ndcg of cv.fitted: %.2f, 1 - cv.error: %.2f", seed, ndcg(model$cv.fitted), held))
}
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
