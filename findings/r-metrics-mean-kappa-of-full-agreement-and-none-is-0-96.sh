#!/usr/bin/env bash
# Guess: MeanQuadraticWeightedKappa of R's package Metrics is the mean of the kappas of the topics: .5 for one topic of
# full agreement and one of none.
# Behaviour: Metrics 0.1.4 takes the mean of Fisher's transform of the kappas and turns it back, with those above .999
# cut to that: 1 and 0 are .956, and one topic of full agreement lifts nine of kappa .2 to .51.
# Why it matters: topics with few judgements, where two assessors agree on all by chance, decide the mean. The measure
# of a competition under this name is not the mean that a table of agreement means, by up to .46.
# Source: Metrics, R/metrics.R (MeanQuadraticWeightedKappa); its manual says it of Fisher's transform.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 liblapack3=3.11.0-2 \
    r-base-core=4.2.2.20221110-2 r-cran-metrics=0.1.4-2
for package in *.deb; do
    dpkg -x "$package" .
done
export R_HOME="$folder/usr/lib/R"
ln -sf Renviron.ucf "$R_HOME/etc/Renviron"
libraries="$folder/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$R_HOME/lib:$libraries:$libraries/blas:$libraries/lapack"

expected='Metrics 0.1.4
kappas of the two topics: 1.000, 0.000
the two: mean 0.500, MeanQuadraticWeightedKappa 0.956
one of 1, nine of 0.2: mean 0.280, MeanQuadraticWeightedKappa 0.510
one of 0.9, nine of 0.2: mean 0.270, MeanQuadraticWeightedKappa 0.318'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
library(Metrics)
cat("Metrics ", as.character(packageVersion("Metrics")), "\n", sep = "")
kappa <- function(first, second) ScoreQuadraticWeightedKappa(first, second, 0, 2)
agree <- kappa(c(0, 1, 2, 2), c(0, 1, 2, 2))
none <- kappa(c(0, 0, 2, 2), c(0, 2, 0, 2))
cat(sprintf("kappas of the two topics: %.3f, %.3f\n", agree, none))
show <- function(name, kappas) {
    means <- c(mean(kappas), MeanQuadraticWeightedKappa(kappas))
    cat(sprintf("%s: mean %.3f, MeanQuadraticWeightedKappa %.3f\n", name, means[1], means[2]))
}
show("the two", c(agree, none))
show("one of 1, nine of 0.2", c(1, rep(0.2, 9)))
show("one of 0.9, nine of 0.2", c(0.9, rep(0.2, 9)))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
