#!/usr/bin/env bash
# Guess: `pt.Evaluate(system(topics), qrels)` has the figures of `pt.Experiment([system], topics, qrels)`.
# Behaviour: Evaluate averages over all judged queries, those that were not asked as 0; Experiment leaves judgements
# of other topics out (PyTerrier 1.1.2, `filter_by_topics=True`): .5 and 1 for the same results.
# Why it matters: on a split of the topics, Evaluate divides by the queries of all splits: the figure of a test set of
# a fifth of the topics is a fifth of what Experiment says.
# Source: pyterrier/_evaluation: Experiment(filter_by_topics=True), and Evaluate, which has no topics.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyterrier==1.1.2

expected='Evaluate   0.5
Experiment 1.0'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import logging
import pandas as pd
import pyterrier as pt

logging.disable(logging.CRITICAL)
results = pd.DataFrame({"qid": ["1"], "query": ["heat"], "docno": ["a"], "score": [1.0], "rank": [0]})
system = pt.Transformer.from_df(results)
topics = pd.DataFrame({"qid": ["1"], "query": ["heat"]})
qrels = pd.DataFrame({"qid": ["1", "2"], "docno": ["a", "b"], "label": [1, 1]})
print("Evaluate  ", float(pt.Evaluate(system(topics), qrels, metrics=["map"])["map"]))
print("Experiment", float(pt.Experiment([system], topics, qrels, ["map"])["map"].iloc[0]))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
