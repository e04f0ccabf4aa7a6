#!/usr/bin/env bash
# Guess: EXP of FairRankTune over the rankings of several queries is a mean over them: one ranking ten times has the
# difference of exposure of the ranking once, and the "group average exposure" it returns is at most 1, the exposure of
# the first place.
# Behaviour: in FairRankTune 0.0.7 the exposures are added over the rankings and divided by the documents of the group
# alone. The same ranking ten times has ten times the difference, a hundred times the variance, and groups with an
# average exposure of 7.5. MinMaxRatio does not change. AWRF and ARP add up in the same way.
# Why it matters: of two systems the one that was measured on more queries is the less fair one, by each combination
# but the ratios; a threshold from one collection has no meaning for another.
# Source: FairRankTune, Metrics/EXP.py (grp_exposures / grp_count_items); Singh and Joachims, Fairness of Exposure in
# Rankings, KDD 2018; Raj and Ekstrand, Measuring Fairness in Ranked Results, SIGIR 2022 (expectation over rankings).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numpy==1.26.4 pandas==2.2.3 scipy==1.15.3
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps FairRankTune==0.0.7

expected="1 x one ranking: averages {'men': 0.53, 'women': 0.75}, MaxMinDiff 0.219, Variance 0.012, MinMaxRatio 0.708
10 x one ranking: averages {'men': 5.31, 'women': 7.5}, MaxMinDiff 2.192, Variance 1.201, MinMaxRatio 0.708"

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pandas as pd
from FairRankTune.Metrics import EXP

group_of = {"a": "women", "b": "women", "c": "men", "d": "men"}
for n_queries in (1, 10):
    rankings = pd.DataFrame({f"query {number}": ["a", "c", "b", "d"] for number in range(n_queries)})
    combinations = "MaxMinDiff", "Variance", "MinMaxRatio"
    values = {combination: EXP(rankings, group_of, combination) for combination in combinations}
    averages = {str(group): round(float(average), 2) for group, average in values["MaxMinDiff"][1].items()}
    print(f"{n_queries} x one ranking: averages {averages},",
          ", ".join(f"{combination} {value:.3f}" for combination, (value, _) in values.items()))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
