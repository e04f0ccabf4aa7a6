#!/usr/bin/env bash
# Guess: the decision values of svm in R's e1071 are the higher the more likely a document is of the second level of the
# factor, as those of scikit-learn are, and ranking by them puts the relevant documents first.
# Behaviour: in e1071 1.7.13 the values are positive for the class of the first row of the training data, whatever the
# order of the levels. The same documents ordered otherwise give the same model with the signs turned around, and the
# name of the column, rel/non or non/rel, is all that tells. The predicted classes are the same.
# Why it matters: the first row of a file is relevant or not by chance, so that in cross-validation some folds rank the
# relevant documents first and others last, and the mean of them is near that of random scores.
# Source: manual of e1071, predict.svm (decision.values; the columns have the labels of the two classes).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 liblapack3=3.11.0-2 r-base-core=4.2.2.20221110-2 \
    r-cran-class=7.3-21-1 r-cran-e1071=1.7-13-1 r-cran-mass=7.3-58.2-1 r-cran-proxy=0.4-27-1
for package in *.deb; do
    dpkg -x "$package" .
done
export R_HOME="$folder/usr/lib/R"
ln -sf Renviron.ucf "$R_HOME/etc/Renviron"
libraries="$folder/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$R_HOME/lib:$libraries:$libraries/blas:$libraries/lapack"

expected='e1071 1.7.13
first row rel: column rel/non, right classes 0.97, area under the ROC curve 1.00
first row non: column non/rel, right classes 0.97, area under the ROC curve 0.00'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages(library(e1071))
say <- function(...) cat(..., "\n", sep = "")
say("e1071 ", as.character(packageVersion("e1071")))
set.seed(1)
features <- matrix(rnorm(400), 200)
labels <- factor(ifelse(features[, 1] > 0, "rel", "non"), levels = c("non", "rel"))
training <- 1:100
test <- 101:200
area <- function(values) {
    ranks <- rank(values)
    relevant <- labels[test] == "rel"
    (sum(ranks[relevant]) - sum(relevant) * (sum(relevant) + 1) / 2) / (sum(relevant) * sum(!relevant))
}
for (first in c("rel", "non")) {
    rows <- training[order(labels[training] != first)]
    model <- svm(features[rows, ], labels[rows], kernel = "linear")
    predicted <- predict(model, features[test, ], decision.values = TRUE)
    values <- attr(predicted, "decision.values")
    say(sprintf(
        "first row %s: column %s, right classes %.2f, area under the ROC curve %.2f",
        first, colnames(values), mean(predicted == labels[test]), area(values[, 1])
    ))
}
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
