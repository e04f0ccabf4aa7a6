#!/usr/bin/env bash
# Guess: cohen.kappa of R's psych takes the levels of a factor in their order, low, medium, high, as table() and the
# Kappa of vcd do, and the weighted kappa of these grades is that of the grades 1, 2 and 3.
# Behaviour: psych 2.2.9 orders the grades by the alphabet, factors, also ordered ones, as well as characters: high is
# next to low, and medium is two steps from high. The weighted kappa of the same judgements is 0.41, with numbers 0.73.
# The unweighted kappa is the same. With levels = c("low", "medium", "high") it is 0.73.
# Why it matters: agreement on graded relevance is reported by the weighted kappa, and grades have names such as
# irrelevant, marginal, relevant and highly. Judges who differ by one grade count as if they differed by two, or the
# contrary.
# Source: psych, R/cohen.kappa.R (cohen.kappa1 makes characters of factors, and a factor of these); manual of psych,
# cohen.kappa (levels, for grades that are missing).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 liblapack3=3.11.0-2 r-base-core=4.2.2.20221110-2 \
    r-cran-lattice=0.20-45-3 r-cran-mnormt=2.1.1-2 r-cran-nlme=3.1.162-1 r-cran-psych=2.2.9-1
for package in *.deb; do
    dpkg -x "$package" .
done
export R_HOME="$folder/usr/lib/R"
ln -sf Renviron.ucf "$R_HOME/etc/Renviron"
libraries="$folder/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$R_HOME/lib:$libraries:$libraries/blas:$libraries/lapack"

expected='psych 2.2.9
numbers: kappa 0.44, weighted 0.73
characters: kappa 0.44, weighted 0.41
factors: kappa 0.44, weighted 0.41
ordered factors: kappa 0.44, weighted 0.41
factors and levels: kappa 0.44, weighted 0.73'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages(library(psych))
say <- function(...) cat(..., "\n", sep = "")
say("psych ", as.character(packageVersion("psych")))
grades <- c("low", "medium", "high")
one <- grades[c(1, 1, 3, 2, 2, 3, 1, 3)]
two <- grades[c(1, 2, 3, 2, 1, 2, 1, 3)]
show <- function(name, judge, ...) {
    agreement <- suppressWarnings(cohen.kappa(data.frame(judge(one), judge(two)), ...))
    say(sprintf("%s: kappa %.2f, weighted %.2f", name, agreement$kappa, agreement$weighted.kappa))
}
show("numbers", function(judge) match(judge, grades))
show("characters", identity)
show("factors", function(judge) factor(judge, grades))
show("ordered factors", function(judge) factor(judge, grades, ordered = TRUE))
show("factors and levels", function(judge) factor(judge, grades), levels = grades)
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
