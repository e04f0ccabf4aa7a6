#!/usr/bin/env bash
# Guess: train.fraction = 0.5 of R's gbm trains on the first half of the rows, as its documentation says, so that data
# in the order of time has the later half as validation.
# Behaviour: for `pairwise` gbm 2.1.8.1 shuffles the queries first and trains on as many of them as the fraction says,
# here 49 to 56 of 100 from the second half, others with each seed, and valid.error is of both halves. Where the feature
# turns around in time, two seeds give the contrary of what the first half says. With `gaussian` the first rows are
# taken.
# Why it matters: the number of trees that valid.error chooses has seen the queries of the future, and copies of a query
# in a log stand on both sides. Rows that were put last to be a test set are trained on.
# Source: gbm, R/gbm.R (perm.levels: a sample of the levels of the group, before num.groups.train); manual of gbm,
# train.fraction.

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
gaussian: right in the first half: 1.00, in the second: 0.00
pairwise, seed 1: trained on queries q001 to q197, 56 of the second half; right in the first half: 0.00
pairwise, seed 2: trained on queries q001 to q198, 49 of the second half; right in the first half: 1.00
pairwise, seed 3: trained on queries q002 to q200, 54 of the second half; right in the first half: 0.00'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages(library(gbm))
say <- function(...) cat(..., "\n", sep = "")
say("gbm ", as.character(packageVersion("gbm")))
# 200 queries in the order of time; the feature is the label in the first half, and its contrary in the second.
data <- data.frame(query = rep(sprintf("q%03d", 1:200), each = 10), label = rep(c(1, 0), 1000))
old <- seq_len(nrow(data)) <= 1000
data$feature <- ifelse(old, data$label, 1 - data$label)

fit <- function(distribution, seed) {
    set.seed(seed)
    gbm(label ~ feature, distribution, data, n.trees = 20, train.fraction = 0.5)
}
model <- fit("gaussian", 1)
right <- function(rows, scores) mean((scores[rows] > mean(scores)) == (data$label[rows] == 1))
halves <- c(right(old, model$fit), right(!old, model$fit))
say(sprintf("gaussian: right in the first half: %.2f, in the second: %.2f", halves[1], halves[2]))
for (seed in 1:3) {
    model <- fit(list(name = "pairwise", metric = "ndcg", group = "query"), seed)
    trained <- unique(data$query[model$ord.group[1:model$nTrain]])
    say(sprintf(
        "pairwise, seed %d: trained on queries %s to %s, %d of the second half; right in the first half: %.2f",
        seed, min(trained), max(trained), sum(trained > "q100"), right(old, model$fit)
    ))
}
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
