#!/usr/bin/env bash
# Guess: MajorityVote of crowd-kit decides a tie by chance, by the skill of the workers, or by who comes first.
# Behaviour: in crowd-kit 1.4.2 it is the label that sorts first, whatever the order of the rows. Of two judges with
# grades, the lower one always wins: 3 and 0 is 0, and of three judges with 1, 2, 3 it is 1. As words, "highly
# relevant" and "not relevant" is the former, "not relevant" and "relevant" the latter.
# Why it matters: with two judges a document is relevant where both say so, which is the strictest rule there is, and
# renaming the labels turns it into the mildest. Measures by such qrels are no means over the judges.
# Source: crowd-kit, aggregation/classification/majority_vote.py (idxmax over the columns of labels, which pandas
# sorts).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==1.26.4 scipy==1.17.1 pandas==2.3.3 scikit-learn==1.9.1 nltk==3.10.4 attrs==23.2.0 tqdm==4.70.1
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps crowd-kit==1.4.2

expected='3 and 0: 0
0 and 3: 0
1 and 2 and 3: 1
relevant and not relevant: not relevant
highly relevant and not relevant: highly relevant'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pandas as pd
from crowdkit.aggregation import MajorityVote

for labels in ((3, 0), (0, 3), (1, 2, 3), ("relevant", "not relevant"), ("highly relevant", "not relevant")):
    rows = pd.DataFrame({"task": "document", "worker": range(len(labels)), "label": labels})
    print(*labels, sep=" and ", end=f": {MajorityVote().fit_predict(rows)['document']}\n")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
