#!/usr/bin/env bash
# Guess: PRAUC of R's package MLmetrics, the area under the curve of precision and recall, is 1 for a list with all
# relevant documents at the top, and is about average precision otherwise.
# Behaviour: the curve that MLmetrics 1.1.1 takes from ROCR begins with a recall of 0 and no precision; PRAUC drops that
# point, and the area left of the first relevant document with it. A perfect list with R relevant documents has
# (R - 1) / R: 0 where there is one, less than if that were in the last place of ten. ROCR's own aucpr, 1.0-11, begins
# with a precision of 1 instead and draws a line from there: .55 for the last place of ten.
# Why it matters: a mean over queries is highest for those with many relevant documents whatever the order, and where
# there is one relevant document, as with known items and clicks, PRAUC falls as it rises. Neither can be compared with
# average precision, .1 in the last place.
# Source: MLmetrics, R/Classification.R (PRAUC: na.rm = TRUE of Area_Under_Curve).

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

expected='MLmetrics 1.1.1, ROCR 1.0.11
perfect list, 1 relevant of 10: PRAUC 0.00, aucpr 1.00
perfect list, 2 relevant of 10: PRAUC 0.50, aucpr 1.00
perfect list, 3 relevant of 10: PRAUC 0.67, aucpr 1.00
perfect list, 4 relevant of 10: PRAUC 0.75, aucpr 1.00
1 relevant of 10, in the last place: PRAUC 0.05, aucpr 0.55
4 relevant of 10, in every second place: PRAUC 0.40, aucpr 0.56'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages(library(MLmetrics))
versions <- sapply(c("MLmetrics", "ROCR"), function(name) as.character(packageVersion(name)))
cat(paste(names(versions), versions, collapse = ", "), "\n", sep = "")
show <- function(name, labels) {
    scores <- rev(seq_along(labels))
    area <- ROCR::performance(ROCR::prediction(scores, labels), "aucpr")@y.values[[1]]
    cat(sprintf("%s: PRAUC %.2f, aucpr %.2f\n", name, PRAUC(scores, labels), area))
}
for (relevant in 1:4) {
    show(sprintf("perfect list, %d relevant of 10", relevant), as.numeric(1:10 <= relevant))
}
show("1 relevant of 10, in the last place", as.numeric(1:10 == 10))
show("4 relevant of 10, in every second place", as.numeric(1:10 %in% c(2, 4, 6, 8)))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
