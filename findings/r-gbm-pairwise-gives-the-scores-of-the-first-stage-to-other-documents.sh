#!/usr/bin/env bash
# Guess: `offset(first)` in the formula of R's gbm is the score that each document begins with, in `pairwise` as in the
# other distributions: where the offset is the label itself, nDCG is 1 before the first tree.
# Behaviour: gbm 2.1.8.1 with `pairwise` shuffles the queries and sorts the documents of each by label, and moves the
# columns, the labels and the weights with them, and not the offset: each document begins with the score of another,
# mostly of another query. A perfect first stage is as good as chance, without a warning. `gaussian` keeps it.
# Why it matters: training on top of BM25 or of an older model is what offsets are for. Here the trees learn to mend an
# order that is not there, another one with each seed, and their scores are then added to the right ones.
# Source: gbm, R/gbm.R (for pairwise y, x and w are put in the order ord.group, offset is not).

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
ndcg of the first stage: 1.00, of random scores: 0.64
pairwise, error with the offset: 0.38 0.36 0.37
pairwise, error without: 0.36 0.35 0.36
gaussian, error with the offset: 0.00, without: 0.21'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages(library(gbm))
say <- function(...) cat(..., "\n", sep = "")
say("gbm ", as.character(packageVersion("gbm")))
set.seed(1)
data <- data.frame(query = rep(sprintf("q%03d", 1:200), each = 10))
data$feature <- runif(nrow(data))
data$label <- rbinom(nrow(data), 1, 0.3)
data$first <- data$label

ndcg <- function(scores) gbm:::perf.pairwise(data$label, scores, data$query, "ndcg")
say(sprintf("ndcg of the first stage: %.2f, of random scores: %.2f", ndcg(data$first), ndcg(runif(nrow(data)))))
errors <- function(formula, distribution, seeds) {
    error <- function(seed) {
        set.seed(seed)
        gbm(formula, distribution, data, n.trees = 1, shrinkage = 1e-6)$train.error
    }
    paste(sprintf("%.2f", sapply(seeds, error)), collapse = " ")
}
pairwise <- list(name = "pairwise", metric = "ndcg", group = "query")
with <- label ~ feature + offset(first)
without <- label ~ feature
say("pairwise, error with the offset: ", errors(with, pairwise, 1:3))
say("pairwise, error without: ", errors(without, pairwise, 1:3))
say("gaussian, error with the offset: ", errors(with, "gaussian", 1), ", without: ", errors(without, "gaussian", 1))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
