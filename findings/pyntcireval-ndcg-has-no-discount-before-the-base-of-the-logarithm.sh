#!/usr/bin/env bash
# Guess: nDCG(logb=2) of pyNTCIREVAL, the Python form of the tool of NTCIR, is the nDCG of trec_eval with the gains
# that it is given: a document at rank r is divided by log2(r + 1).
# Behaviour: pyNTCIREVAL 0.0.3 has the first definition: ranks up to the base of the logarithm have no discount,
# others log_b(r). With logb=2 ranks 1 and 2 count the same, so that a swap of the first two documents changes
# nothing; the usual one is called MSnDCG. A run has nDCG@3 .5476 and MSnDCG@3 .4437.
# Why it matters: figures under the name nDCG@k are higher than those of other tools for runs whose first document is
# bad, and systems that differ at rank 1 tie.
# Source: pyNTCIREVAL, metrics/ndcg.py; K. Jarvelin and J. Kekalainen, Cumulated gain-based evaluation of IR
# techniques, TOIS 2002, section 2.2.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyNTCIREVAL==0.0.3 pytrec_eval-terrier==0.5.11 numpy==2.4.6 scipy==1.17.1

expected='acbed at 2: nDCG 0.5000, MSnDCG 0.3869, trec_eval 0.3869
acbed at 3: nDCG 0.5476, MSnDCG 0.4437, trec_eval 0.4437
cabed at 2: nDCG 0.5000, MSnDCG 0.6131, trec_eval 0.6131
cabed at 3: nDCG 0.5476, MSnDCG 0.6490, trec_eval 0.6490'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import pytrec_eval
from pyNTCIREVAL import Labeler
from pyNTCIREVAL.metrics import MSnDCG, nDCG

levels = {"a": 0, "b": 1, "c": 2, "d": 2, "e": 1}
gains = [1, 3]
labeler = Labeler(levels)
sizes = labeler.compute_per_level_doc_num(3)
qrels = {"q": {doc: [0, 1, 3][level] for doc, level in levels.items()}}
for order in ("acbed", "cabed"):
    labels = labeler.label(list(order))
    run = {"q": {doc: -rank for rank, doc in enumerate(order)}}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.2,3"})
    other = evaluator.evaluate({"q": {doc: float(score) for doc, score in run["q"].items()}})["q"]
    for depth in (2, 3):
        own, usual = nDCG(sizes, gains, 2, depth), MSnDCG(sizes, gains, depth)
        print(
            f"{order} at {depth}: nDCG {own.compute(labels):.4f}, MSnDCG {usual.compute(labels):.4f}, "
            f"trec_eval {other['ndcg_cut_%d' % depth]:.4f}"
        )
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
