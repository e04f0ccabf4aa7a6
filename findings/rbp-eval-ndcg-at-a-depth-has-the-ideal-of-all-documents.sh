#!/usr/bin/env bash
# Guess: nDCG to depth 2 of a list that begins with relevant documents is 1, as ndcg_cut_2 of trec_eval is.
# Behaviour: in rbp_eval 1.0.0 the depth cuts the run and not the ideal, which is that of all relevant documents: with
# five of them a perfect list has 0.28 at depth 1 and 0.56 at depth 2. The first two ranks have the same discount
# besides, so that to exchange them changes nothing.
# Why it matters: at a small depth the value is that of the number of relevant documents; topics with many of them look
# hard, and figures at a depth stand beside ndcg_cut of other tools.
# Source: rbp_eval/dcg.py (compute_dcg: run_length, but all of optimal_rels; _discounted_rel).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    rbp-eval==1.0.0 pytrec-eval-terrier==0.5.11

expected='d1 d3 d4 d5 d6 d2 at 1: rbp_eval 0.281 trec_eval 1.000
d1 d3 d4 d5 d6 d2 at 2: rbp_eval 0.562 trec_eval 1.000
d1 d3 d4 d5 d6 d2 at 6: rbp_eval 1.000 trec_eval 1.000
d2 d1 d3 at 1: rbp_eval 0.000 trec_eval 0.000
d2 d1 d3 at 2: rbp_eval 0.281 trec_eval 0.387
d2 d1 d3 at 6: rbp_eval 0.458 trec_eval 0.384
d1 d2 d3 at 1: rbp_eval 0.281 trec_eval 1.000
d1 d2 d3 at 2: rbp_eval 0.281 trec_eval 0.613
d1 d2 d3 at 6: rbp_eval 0.458 trec_eval 0.509'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import io

import pytrec_eval
from rbp_eval.dcg import DcgOptions, compute_dcg
from rbp_eval.qrels import load_qrels
from rbp_eval.ranking import Ordering
from rbp_eval.runs import load_run

relevant = {f"d{i}": int(i != 2) for i in range(1, 7)}  # d2 is not relevant
qrels = load_qrels(io.StringIO("".join(f"1 0 {name} {grade}\n" for name, grade in relevant.items())))
evaluator = pytrec_eval.RelevanceEvaluator({"1": relevant}, {"ndcg_cut.1,2,6"})
for order in (["d1", "d3", "d4", "d5", "d6", "d2"], ["d2", "d1", "d3"], ["d1", "d2", "d3"]):
    lines = "".join(f"1 Q0 {name} {rank} {10 - rank} run\n" for rank, name in enumerate(order, 1))
    documents = load_run(io.StringIO(lines)).get_qdocs_by_qid("1").get_scores(Ordering.SCORE)
    trec = evaluator.evaluate({"1": {name: 10.0 - rank for rank, name in enumerate(order, 1)}})["1"]
    for depth in (1, 2, 6):
        value = compute_dcg(qrels, "1", documents, DcgOptions(depth=depth))
        print(*order, f"at {depth}: rbp_eval {value:.3f} trec_eval {trec[f'ndcg_cut_{depth}']:.3f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
