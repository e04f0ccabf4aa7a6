#!/usr/bin/env bash
# Guess: aggregateRanks of R's RobustRankAggreg, given the runs of three systems, ranks all of their documents by how
# high they stand in the lists.
# Behaviour: by default RobustRankAggreg 1.2.1 takes the documents that occur in any list for all that there are. Lists
# of ten that share most of them say little then: of eleven documents four have a score below 1, and the other seven
# have 1 and stand in the order in which the first list names them. With N = 1000, documents of the collection, all
# scores are below 1, and documents that are in three lists stand above those in two, whichever run is first.
# Why it matters: a document at ranks 4, 5 and 10 of three systems ties with one at ranks 8 and 10 of two, and measures
# at ten see the first run from rank 5 on. It looks as if fusion hardly changed it, and another order of the runs gives
# another value.
# Source: manual of RobustRankAggreg, aggregateRanks (N: by default the number of unique elements; Details: N has a
# strong influence, and is not known for web searches); R/ (rhoScores: at most 1).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 liblapack3=3.11.0-2 r-base-core=4.2.2.20221110-2 \
    r-cran-robustrankaggreg=1.2.1-1
for package in *.deb; do
    dpkg -x "$package" .
done
export R_HOME="$folder/usr/lib/R"
ln -sf Renviron.ucf "$R_HOME/etc/Renviron"
libraries="$folder/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$R_HOME/lib:$libraries:$libraries/blas:$libraries/lapack"

expected='RobustRankAggreg 1.2.1
N = NA, run one first: 4 of 11 below 1: 01 04 02 03 05 07 08 11 09 06 10
N = NA, run two first: 4 of 11 below 1: 01 04 02 03 05 06 07 08 10 11 09
N = NA, run three first: 4 of 11 below 1: 01 02 04 03 09 06 10 08 07 05 11
N = 1000, run one first: 11 of 11 below 1: 01 04 02 03 08 07 05 06 09 10 11
N = 1000, run two first: 11 of 11 below 1: 01 04 02 03 08 07 05 06 10 09 11
N = 1000, run three first: 11 of 11 below 1: 01 02 04 03 08 07 06 05 09 10 11'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
library(RobustRankAggreg)
say <- function(...) cat(..., "\n", sep = "")
say("RobustRankAggreg ", as.character(packageVersion("RobustRankAggreg")))
runs <- list(
    one = c("d04", "d02", "d01", "d05", "d03", "d07", "d08", "d11", "d09", "d06"),
    two = c("d03", "d01", "d04", "d02", "d05", "d06", "d07", "d08", "d10", "d11"),
    three = c("d01", "d03", "d02", "d04", "d09", "d06", "d10", "d08", "d07", "d05")
)
for (number in list(NA, 1000)) {
    for (order in list(c("one", "two", "three"), c("two", "three", "one"), c("three", "one", "two"))) {
        found <- aggregateRanks(runs[order], N = number)
        say(
            "N = ", number, ", run ", order[1], " first: ", sum(found$Score < 1), " of ", nrow(found), " below 1: ",
            paste(sub("d", "", found$Name), collapse = " ")
        )
    }
}
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
