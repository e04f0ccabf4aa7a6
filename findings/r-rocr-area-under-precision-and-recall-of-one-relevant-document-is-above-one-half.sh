#!/usr/bin/env bash
# Guess: the measure "aucpr" of R's ROCR is near average precision, and near 0 for a list whose only relevant document
# is its last.
# Behaviour: ROCR 1.0-11 starts the curve of each list that does not begin with a relevant document at recall 0 with a
# precision of 1, and joins it by a straight line to the first relevant document. One relevant document at rank r gives
# (1 + 1 / r) / 2: 0.75 at rank 2 and 0.505 at rank 100, where average precision is 0.5 and 0.01. The curve that
# performance(p, "prec", "rec") returns for the same list has no such point.
# Why it matters: queries with one relevant document are what question answering and known-item search have, and no
# system falls below one half there. From rank 2 to 10 average precision falls to a fifth, and this from 0.75 to 0.55.
# Source: ROCR, R/performance_measures.R (.performance.aucpr sets the first precision to 1; trapezoids).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 liblapack3=3.11.0-2 r-base-core=4.2.2.20221110-2 \
    r-cran-bitops=1.0-7-1 r-cran-catools=1.18.2-1+b1 r-cran-gplots=3.1.3-1 r-cran-gtools=3.9.4-1 \
    r-cran-kernsmooth=2.23-20-1 r-cran-rocr=1.0-11-2
for package in *.deb; do
    dpkg -x "$package" .
done
export R_HOME="$folder/usr/lib/R"
ln -sf Renviron.ucf "$R_HOME/etc/Renviron"
libraries="$folder/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$R_HOME/lib:$libraries:$libraries/blas:$libraries/lapack"

expected='ROCR 1.0.11
relevant at 1 of 100: aucpr 1.000, average precision 1.000
relevant at 2 of 100: aucpr 0.750, average precision 0.500
relevant at 5 of 100: aucpr 0.600, average precision 0.200
relevant at 10 of 100: aucpr 0.550, average precision 0.100
relevant at 100 of 100: aucpr 0.505, average precision 0.010
relevant at 2 and 4 of 100: aucpr 0.625, average precision 0.500
relevant at 99 and 100 of 100: aucpr 0.260, average precision 0.015
curve of one relevant at 2 of 4, recall: 0 0 1 1 1
precision: NaN 0 0.5 0.33 0.25'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages(library(ROCR))
say <- function(...) cat(..., "\n", sep = "")
say("ROCR ", as.character(packageVersion("ROCR")))
average_precision <- function(labels) mean((cumsum(labels) / seq_along(labels))[labels == 1])
for (ranks in list(1, 2, 5, 10, 100, c(2, 4), c(99, 100))) {
    labels <- as.numeric(seq_len(max(100, ranks)) %in% ranks)
    lists <- prediction(rev(seq_along(labels)), labels)
    say(sprintf(
        "relevant at %s of 100: aucpr %.3f, average precision %.3f",
        paste(ranks, collapse = " and "), performance(lists, "aucpr")@y.values[[1]], average_precision(labels)
    ))
}
curve <- performance(prediction(4:1, c(0, 1, 0, 0)), "prec", "rec")
say("curve of one relevant at 2 of 4, recall: ", paste(curve@x.values[[1]], collapse = " "))
say("precision: ", paste(round(curve@y.values[[1]], 2), collapse = " "))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
