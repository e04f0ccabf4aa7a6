#!/usr/bin/env bash
# Guess: recall_k of log_batch_ranking_metrics in whylogs, given lists of retrieved and of relevant documents, is the
# share of the relevant ones among the first k.
# Behaviour: in whylogs 1.6.4 the divisor is the number of hits in the whole retrieved list. One of five relevant
# documents found, with k the length of the list, is a recall of 1, and a query where none is found is 0 / 0: its row
# is not in the mean. Four queries of which three find nothing and one a fifth have the mean recall 1. The average
# precision is divided by the hits, too; NDCG counts what was missed.
# Why it matters: whylogs watches a search in production; when it stops finding documents, recall stays at 1.
# Source: whylogs/experimental/api/logger/__init__.py (recall: count_at_k / count_all, both counted by relevant_counter
# in the predictions).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    whylogs==1.6.4 whylogs-sketching==3.4.1.dev3 whylabs-client==0.6.16 protobuf==7.36.2 numpy==1.26.4 pandas==2.2.3

expected='one of five found: recall 1.00, precision 0.33, average_precision 1.00, norm_dis_cumul_gain 0.47
three of five found: recall 1.00, precision 1.00, average_precision 1.00, norm_dis_cumul_gain 1.00
one of five, and three queries with none: recall 1.00, precision 0.08, average_precision 0.25, norm_dis_cumul_gain 0.12'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2>/dev/null <<'EOF'
import pandas as pd
from whylogs.experimental.api.logger import log_batch_ranking_metrics

RELEVANT = ["a", "b", "c", "d", "e"]
MEASURES = ("recall_k_3", "precision_k_3", "average_precision_k_3", "norm_dis_cumul_gain_k_3")
found_one, found_three, found_none = ["a", "x", "y"], ["a", "b", "c"], ["x", "y", "z"]
cases = {
    "one of five found": [found_one],
    "three of five found": [found_three],
    "one of five, and three queries with none": [found_one, found_none, found_none, found_none],
}
for name, retrieved in cases.items():
    frame = pd.DataFrame({"retrieved": retrieved, "relevant": [RELEVANT] * len(retrieved)})
    result = log_batch_ranking_metrics(frame, prediction_column="retrieved", target_column="relevant", k=3)
    profile = result.view().to_pandas()
    means = (f"{each.partition('_k_')[0]} {profile.loc[each, 'distribution/mean']:.2f}" for each in MEASURES)
    print(f"{name}:", ", ".join(means))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
