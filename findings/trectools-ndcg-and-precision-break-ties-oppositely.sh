#!/usr/bin/env bash
# Guess: with trec_eval=True, all measures of one evaluator see the same ranking, that of trec_eval.
# Behaviour: in trectools 0.0.50, P@1 is 0 and NDCG@1 is 1 for two documents of equal scores. Reading a run puts the
# lower document id first; P, MAP, MRR and Bpref sort again with the higher id first, NDCG and RBP do not.
# Why it matters: for runs with many equal scores the measures of one row of a table belong to two rankings, one of
# which trec_eval never has.
# Source: trectools, trec_run.py (read_run) and trec_eval.py (get_ndcg uses its argument trec_eval for the gain only).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    trectools==0.0.50 numpy==1.26.4 scipy==1.17.1 pandas==3.0.6 scikit-learn==1.9.1

expected='a is relevant: P@1 0.0, RR 0.5, NDCG@1 1.0
b is relevant: P@1 1.0, RR 1.0, NDCG@1 0.0'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import os
import tempfile

from trectools import TrecEval, TrecQrel, TrecRun


def evaluator(qrels, run):
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("run", "qrels")]
        for path, text in zip(paths, (run, qrels)):
            with open(path, "w") as file:
                file.write(text)
        return TrecEval(TrecRun(paths[0]), TrecQrel(paths[1]))


for doc in "ab":
    own = evaluator(f"1 0 {doc} 1\n", "1 Q0 a 1 1.0 t\n1 Q0 b 2 1.0 t\n")
    p, ndcg = (float(function(1, trec_eval=True)) for function in (own.get_precision, own.get_ndcg))
    print(f"{doc} is relevant: P@1 {p}, RR {float(own.get_reciprocal_rank())}, NDCG@1 {ndcg}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
