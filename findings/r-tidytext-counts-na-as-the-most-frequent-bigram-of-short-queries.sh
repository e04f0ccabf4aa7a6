#!/usr/bin/env bash
# Guess: unnest_tokens of R's tidytext with token = "ngrams" has no row for a text that has fewer words than the n-gram,
# as the tokens of an empty text have none, and a count of bigrams counts bigrams.
# Behaviour: tidytext 0.4.1 has a row with NA for each text that is too short. In a log of queries, of which half have
# one word, NA is the most frequent bigram, and its share is taken from the others: bind_tf_idf gives new york, the only
# bigram of a site, a tf of 0.33 instead of 1, so that sites with more queries of one word have lower values for all of
# their bigrams. An anti_join with stop words does not take NA out.
# Why it matters: shares and tf-idf of the bigrams of queries and titles tell how many short texts there are. NA has to
# be filtered before anything is counted; texts without any word have no row among the words.
# Source: tokenizers, R/ngram-tokenizers.R (tokenize_ngrams; its generate_ngrams_batch gives NA for too few words).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download libblas3=3.11.0-2 libgfortran5=12.2.0-14+deb12u1 liblapack3=3.11.0-2 r-base-core=4.2.2.20221110-2 \
    r-cran-cli=3.6.0-1 r-cran-dplyr=1.0.10-1 r-cran-fansi=1.0.4-1 r-cran-generics=0.1.3-1 r-cran-glue=1.6.2-1 \
    r-cran-janeaustenr=1.0.0-1 r-cran-lattice=0.20-45-3 r-cran-lifecycle=1.0.3+dfsg-1 r-cran-magrittr=2.0.3-1 \
    r-cran-matrix=1.5-3-1 r-cran-pillar=1.8.1+dfsg-1 r-cran-pkgconfig=2.0.3-2 r-cran-r6=2.5.1-1 r-cran-rcpp=1.0.10-1 \
    r-cran-rlang=1.0.6-1 r-cran-snowballc=0.7.0-1+b1 r-cran-stringi=1.7.12-1 r-cran-stringr=1.5.0-1 \
    r-cran-tibble=3.1.8+dfsg-1 r-cran-tidyselect=1.2.0+dfsg-1 r-cran-tidytext=0.4.1-1 r-cran-tokenizers=0.3.0-1 \
    r-cran-utf8=1.2.3-1 r-cran-vctrs=0.5.2-1 r-cran-withr=2.5.0-1
for package in *.deb; do
    dpkg -x "$package" .
done
export R_HOME="$folder/usr/lib/R"
ln -sf Renviron.ucf "$R_HOME/etc/Renviron"
libraries="$folder/usr/lib/x86_64-linux-gnu"
export LD_LIBRARY_PATH="$R_HOME/lib:$libraries:$libraries/blas:$libraries/lapack"

expected='tidytext 0.4.1
rows of an empty text as words: 0
travel, NA, 4
news, election results, 2
news, NA, 2
travel, new york, 2
news, local news, 1
news, weather forecast, 1
NA after an anti_join: 6
travel: NA tf 0.67 idf NA; new york tf 0.33 idf 0.69
travel without NA: new york tf 1.00 idf 0.69'

observed=$("$R_HOME/bin/exec/R" --vanilla --no-echo -f /dev/stdin 2> "$folder/log" <<'EOF'
suppressMessages({
    library(tidytext)
    library(dplyr)
})
say <- function(...) cat(..., "\n", sep = "")
say("tidytext ", as.character(packageVersion("tidytext")))
queries <- tibble(
    site = rep(c("news", "travel"), each = 6),
    query = c(
        "weather", "election results", "election results", "local news", "weather forecast", "election",
        "hotels", "new york", "new york", "flights", "berlin", "rome"
    )
)
words <- unnest_tokens(tibble(site = "none", query = ""), word, query)
say("rows of an empty text as words: ", nrow(words))
bigrams <- unnest_tokens(queries, bigram, query, token = "ngrams", n = 2)
counts <- count(bigrams, site, bigram, sort = TRUE)
for (row in seq_len(nrow(counts))) say(paste(counts[row, ], collapse = ", "))
stops <- tibble(bigram = c("local news"))
say("NA after an anti_join: ", sum(is.na(anti_join(bigrams, stops, by = "bigram")$bigram)))
show <- function(name, counted) {
    weighted <- filter(bind_tf_idf(counted, bigram, site, n), site == "travel")
    say(name, ": ", paste(sprintf("%s tf %.2f idf %.2f", weighted$bigram, weighted$tf, weighted$idf), collapse = "; "))
}
show("travel", counts)
show("travel without NA", filter(counts, !is.na(bigram)))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
