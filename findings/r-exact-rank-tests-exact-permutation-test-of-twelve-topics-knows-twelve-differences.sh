#!/usr/bin/env bash
# Guess: perm.test of R's package exactRankTests, with paired = TRUE and exact = TRUE, is the exact test of Fisher's
# randomisation: the share of the sign flips of the differences with a sum as large.
# Behaviour: exactRankTests 0.8-35 first maps differences that are no whole numbers to whole numbers from 1 to the
# number of topics, and is exact for these. Of twelve differences of nDCG with an exact p of .007 it says .046; the same
# values as whole numbers of ten thousandths have .007. Of 200 pairs of runs, 178 have a p that is off by more than a
# fifth, on both sides, and 43 are on the other side of .05. The default is the same; the header of what is printed
# speaks of rounded scores.
# Why it matters: measures are never whole numbers. The p-value is called exact, and the unit in which nDCG is given
# decides which one it is.
# Source: manual of exactRankTests, perm.test; R/permTest.R (scores are mapped where they are no integers).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 liblapack3=3.11.0-2 \
    r-base-core=4.2.2.20221110-2 r-cran-exactranktests=0.8-35-1
for package in *.deb; do
    dpkg -x "$package" .
done
export R_HOME="$folder/usr/lib/R"
ln -sf Renviron.ucf "$R_HOME/etc/Renviron"
libraries="$folder/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$R_HOME/lib:$libraries:$libraries/blas:$libraries/lapack"

expected='exactRankTests 0.8.35
sign flips 0.007, perm.test 0.046
in ten thousandths: sign flips 0.007, perm.test 0.007
200 pairs: 178 p differ by more than a fifth, 108 higher, 70 lower, 43 on the other side of .05'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages(library(exactRankTests))
cat("exactRankTests ", as.character(packageVersion("exactRankTests")), "\n", sep = "")
flips <- as.matrix(expand.grid(rep(list(c(-1, 1)), 12)))
exact <- function(differences) mean(abs(flips %*% differences) >= abs(sum(differences)) - 1e-9)
test <- function(differences) {
    none <- numeric(length(differences))
    perm.test(differences, none, paired = TRUE, exact = TRUE)$p.value
}
set.seed(1)
differences <- round(rnorm(12, 0.03, 0.06), 4)
cat(sprintf("sign flips %.3f, perm.test %.3f\n", exact(differences), test(differences)))
whole <- round(10000 * differences)
cat(sprintf("in ten thousandths: sign flips %.3f, perm.test %.3f\n", exact(whole), test(whole)))
pairs <- lapply(1:200, function(pair) round(rnorm(12, 0.04, 0.06), 4))
p <- sapply(pairs, exact)
rounded <- sapply(pairs, test)
cat(sprintf("200 pairs: %d p differ by more than a fifth, %d higher, %d lower, %d on the other side of .05\n",
            sum(abs(rounded - p) > 0.2 * p), sum(rounded > 1.2 * p), sum(rounded < 0.8 * p),
            sum((p < 0.05) != (rounded < 0.05))))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
