#!/usr/bin/env bash
# Guess: RBP of a query does not depend on the other queries of the run.
# Behaviour: in trectools 0.0.50, the last document of query 1 and the first one of query 2 have equal scores and so
# share the mean of their weights: a relevant document at rank 1 of query 2 counts 0.164 in place of 0.2. Ties are
# averaged by default, over neighbouring rows, and a change of the query does not end a tie.
# Why it matters: scores that are rounded or normalised to 1 are often equal there; the mean over queries changes with
# their order.
# Source: trectools, trec_eval.py (get_rbp, average_ties: shift without a group by query; the argument has no text).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    trectools==0.0.50 numpy==1.26.4 scipy==1.17.1 pandas==3.0.6 scikit-learn==1.9.1

expected='scores of query 1 end with 1.0: RBP of query 2 is 0.164
scores of query 1 end with 1.5: RBP of query 2 is 0.200'

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


for last in ("1.0", "1.5"):
    run = f"1 Q0 a 1 3.0 t\n1 Q0 b 2 2.0 t\n1 Q0 c 3 {last} t\n2 Q0 a 1 1.0 t\n"
    rbp, _ = evaluator("1 0 a 1\n2 0 a 1\n", run).get_rbp(per_query=True)
    print(f"scores of query 1 end with {last}: RBP of query 2 is {rbp.iloc[1, 0]:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
