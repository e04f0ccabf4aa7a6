#!/usr/bin/env bash
# Guess: Precision, Recall and F1_Score of R's package MLmetrics on labels 0 and 1 are those of the relevant documents,
# 1, as in scikit-learn.
# Behaviour: MLmetrics 1.1.1 takes for positive the class of the first row of its table, which is sorted: 0. A run that
# finds one document of ten, and the wrong one, has a precision and a recall of .89. With the labels "no" and "yes" it
# is no; with "relevant" and "wrong" it is relevant.
# Why it matters: the documents that are not relevant are nearly all, so every run looks good, and the best is the one
# that retrieves nothing. A run that finds all relevant documents among others falls behind it.
# Source: MLmetrics, R/Classification.R (positive is Confusion_DF[1, 1] where it is NULL).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 liblapack3=3.11.0-2 \
    r-base-core=4.2.2.20221110-2 r-cran-mlmetrics=1.1.1-3 r-cran-rocr=1.0-11-2 r-cran-gplots=3.1.3-1 \
    r-cran-gtools=3.9.4-1 r-cran-gdata=2.18.0.1-1 r-cran-catools=1.18.2-1+b1 r-cran-bitops=1.0-7-1 \
    r-cran-kernsmooth=2.23-20-1
for package in *.deb; do
    dpkg -x "$package" .
done
export R_HOME="$folder/usr/lib/R"
ln -sf Renviron.ucf "$R_HOME/etc/Renviron"
libraries="$folder/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$R_HOME/lib:$libraries:$libraries/blas:$libraries/lapack"

expected='MLmetrics 1.1.1
the wrong document found: precision 0.89, recall 0.89, F1 0.89
the relevant document and three more found: precision 1.00, recall 0.67, F1 0.80
the same, positive = 1: precision 0.25, recall 1.00, F1 0.40
labels no and yes: precision 0.89, recall 0.89, F1 0.89
labels wrong and relevant: precision 0.25, recall 1.00, F1 0.40'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages(library(MLmetrics))
cat("MLmetrics ", as.character(packageVersion("MLmetrics")), "\n", sep = "")
labels <- c(1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
show <- function(name, labels, found, ...) {
    values <- c(Precision(labels, found, ...), Recall(labels, found, ...), F1_Score(labels, found, ...))
    cat(sprintf("%s: precision %.2f, recall %.2f, F1 %.2f\n", name, values[1], values[2], values[3]))
}
wrong <- rev(labels)
four <- as.numeric(1:10 <= 4)
show("the wrong document found", labels, wrong)
show("the relevant document and three more found", labels, four)
show("the same, positive = 1", labels, four, positive = "1")
words <- function(labels, names) names[labels + 1]
show("labels no and yes", words(labels, c("no", "yes")), words(wrong, c("no", "yes")))
grades <- c("wrong", "relevant")
show("labels wrong and relevant", words(labels, grades), words(four, grades))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
