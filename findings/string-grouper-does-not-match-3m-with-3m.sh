#!/usr/bin/env bash
# Guess: identical strings have the similarity 1 and are in one group, whatever they are.
# Behaviour: string_grouper 0.8.0 compares groups of three letters (TF-IDF and cosine), after it took out blanks,
# commas, points, hyphens and slashes: a name of fewer than three letters has none, and its similarity is 0 to all, to
# itself as well. Two rows of 3M are two groups, and a master list that has 3M has no match for it. New York and
# NewYork are one.
# Why it matters: 3M, HP, GE, BP, LG, EY, UK, C# and AI are names; their duplicates stay in the list while those of all
# longer names are found, and no setting of the similarity brings them together.
# Source: string_grouper, string_grouper.py (n_grams, ngram_size 3, regex).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    string-grouper==0.8.0 sparse-dot-topn==1.2.0 pandas==2.3.3 scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6 \
    psutil==7.2.2 joblib==1.6.0 threadpoolctl==3.8.0 narwhals==2.29.0 loguru==0.7.3

expected='pairs: IBM IBM 1.00, New York NewYork 1.00
groups: 0 1 2 3 4 4 6 6
similarity to itself: 3M 0.00, HP 0.00, IBM 1.00
IBM, 3M and lake in a list of 3M and IBM: IBM none none'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import pandas
from string_grouper import compute_pairwise_similarities, group_similar_strings, match_most_similar, match_strings

names = pandas.Series(["3M", "3M", "HP", "HP", "IBM", "IBM", "New York", "NewYork"])
pairs = match_strings(names)
other = pairs[pairs.left_index < pairs.right_index]
print("pairs:", ", ".join(f"{left} {right} {value:.2f}" for left, right, value in
      zip(other.left_side, other.right_side, other.similarity)))
groups = group_similar_strings(names)
print("groups:", *groups.iloc[:, 0].tolist())
same = pandas.Series(["3M", "HP", "IBM"])
print("similarity to itself:", ", ".join(f"{name} {value:.2f}" for name, value in
      zip(same, compute_pairwise_similarities(same, same))))
master = pandas.Series(["3M", "IBM"])
found = match_most_similar(master, pandas.Series(["IBM", "3M", "lake"])).most_similar_index
print("IBM, 3M and lake in a list of 3M and IBM:", *("none" if pandas.isna(i) else master[i] for i in found))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
