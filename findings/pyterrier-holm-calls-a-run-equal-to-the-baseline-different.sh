#!/usr/bin/env bash
# Guess: in an experiment, a run that equals the baseline is not different from it, with any correction for several
# tests, and changes no other row but by the number of tests.
# Behaviour: in PyTerrier 1.1.2 the t-test of such a run is nan, and nan goes into statsmodels 0.15.0. With Holm the
# equal run is rejected (True) as soon as no other row stops the procedure; with Benjamini and Hochberg the corrected p
# values of all other rows become nan.
# Why it matters: a reranker that falls back to the first stage, or a run that was named twice, is reported as
# significantly different; tables filtered by the corrected p value lose every row.
# Source: PyTerrier, pyterrier/_evaluation/_rendering.py; statsmodels, stats/multitest.py (multipletests).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pyterrier==1.1.2 ir-measures==0.4.3 pytrec-eval-terrier==0.5.11 statsmodels==0.15.0 numpy==2.4.6 pandas==3.1.1 \
    scipy==1.17.1

expected='holm, equal: p nan, corrected nan, reject True
holm, worse: p 0.00001, corrected 0.00003, reject True
fdr_bh, equal: p nan, corrected nan, reject False
fdr_bh, worse: p 0.00001, corrected nan, reject True'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pandas as pd
import pyterrier as pt

queries = [str(number) for number in range(12)]
qrels = pd.DataFrame({"qid": queries, "docno": "d", "label": 1})
topics = pd.DataFrame({"qid": queries, "query": "words"})


def run(n_right):
    docs = ["d"] * n_right + ["e"] * (12 - n_right)
    return pd.DataFrame({"qid": queries, "docno": docs, "score": 1.0, "rank": 0})


runs = [run(12), run(12), run(2)]
for correction in ("holm", "fdr_bh"):
    table = pt.Experiment(
        runs, topics, qrels, ["map"], names=["baseline", "equal", "worse"], baseline=0, correction=correction
    )
    for _, row in table.iloc[1:].iterrows():
        print(f"{correction}, {row['name']}: p {row['map p-value']:.5f}, "
              f"corrected {row['map p-value corrected']:.5f}, reject {row['map reject']}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
