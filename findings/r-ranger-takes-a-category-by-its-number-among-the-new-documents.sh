#!/usr/bin/env bash
# Guess: a forest of R's ranger remembers the levels of a factor or of a column of characters, as randomForest does, and
# finds the same site "b" in new data that it was trained on.
# Behaviour: by default ranger 0.14.1 takes a category by its number among the levels of the new data. A forest that
# predicts 1, 5, 2 and 9 for the sites a, b, c and d predicts 1 and 5 for b and d where the new data have these two
# alone: b is the first level, as a was. There is no warning. With respect.unordered.factors = "order" the levels are
# kept, and randomForest stops with an error.
# Why it matters: candidates are scored a query at a time, and few queries have all sites, languages or types of
# documents. The whole test set at once is scored well, each of its queries alone otherwise.
# Source: ranger, R/ranger.R (forest$covariate.levels is set for "order" alone) and R/predict.R (characters become
# factors of the new data).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 liblapack3=3.11.0-2 r-base-core=4.2.2.20221110-2 \
    r-cran-lattice=0.20-45-3 r-cran-matrix=1.5-3-1 r-cran-ranger=0.14.1-1 r-cran-rcpp=1.0.10-1 \
    r-cran-randomforest=4.7-1.1-1
for package in *.deb; do
    dpkg -x "$package" .
done
export R_HOME="$folder/usr/lib/R"
ln -sf Renviron.ucf "$R_HOME/etc/Renviron"
libraries="$folder/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$R_HOME/lib:$libraries:$libraries/blas:$libraries/lapack"

expected='ranger 0.14.1
characters, sites a b c d: 1 5 2 9
characters, sites b d: 1 5
characters, sites d: 1
factors, sites a b c d: 1 5 2 9
factors, sites b d: 1 5
factors, sites d: 1
factors by order, sites a b c d: 1 5 2 9
factors by order, sites b d: 5 9
factors by order, sites d: 9
randomForest: Type of predictors in new data do not match that of the training data.'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages({
    library(ranger)
    library(randomForest)
})
say <- function(...) cat(..., "\n", sep = "")
say("ranger ", as.character(packageVersion("ranger")))
sites <- rep(c("a", "b", "c", "d"), each = 50)
grades <- c(a = 1, b = 5, c = 2, d = 9)[sites]
data <- data.frame(site = sites, grade = grades)
show <- function(name, forest, predict_new) {
    for (new in list(c("a", "b", "c", "d"), c("b", "d"), "d")) {
        predictions <- predict_new(forest, data.frame(site = new))
        say(name, ", sites ", paste(new, collapse = " "), ": ", paste(round(predictions), collapse = " "))
    }
}
characters <- function(forest, new) predict(forest, new)$predictions
factors <- function(forest, new) characters(forest, transform(new, site = factor(site)))
show("characters", ranger(grade ~ site, data, num.trees = 50, seed = 1), characters)
data$site <- factor(data$site)
show("factors", ranger(grade ~ site, data, num.trees = 50, seed = 1), factors)
kept <- ranger(grade ~ site, data, num.trees = 50, seed = 1, respect.unordered.factors = "order")
show("factors by order", kept, factors)
set.seed(1)
forest <- suppressWarnings(randomForest(grade ~ site, data, ntree = 50))
new <- data.frame(site = factor(c("b", "d")))
say("randomForest: ", tryCatch(paste(predict(forest, new)), error = conditionMessage))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
