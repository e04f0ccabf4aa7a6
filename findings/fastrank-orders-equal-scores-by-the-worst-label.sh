#!/usr/bin/env bash
# Guess: measures of FastRank break ties by the order of the rows or by document ids, and nDCG has the label as gain, as
# trec_eval.
# Behaviour: FastRank 0.8.0 puts the documents with the lowest labels first, and the gain is 2^label - 1. A model that
# says nothing has the lowest figure that any order has.
# Why it matters: a tree ranker of few leaves looks worse than the run it writes is in trec_eval, and nDCG of graded
# labels differs without ties, too.
# Source: fastrank's repository, fastrank/src/evaluators.rs (the order of RankedInstance, NDCG).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    fastrank==0.8.0 numpy==2.4.6 cffi==2.1.1

expected='ties: map 0.4167 ndcg@4 0.4935
2 0 1 0: map 0.8333 ndcg@4 0.9639
worst order, gain label: ndcg 0.5174
worst order, gain 2^label - 1: ndcg 0.4935'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import math

import numpy as np
from fastrank import CDataset, CModel

labels = np.array([2.0, 1.0, 0.0, 0.0])
model = CModel.from_dict({"Linear": {"weights": [1.0]}})
for name, scores in (("ties:", [1, 1, 1, 1]), ("2 0 1 0:", [4, 2, 3, 1])):
    data = CDataset.from_numpy(np.array(scores, dtype=np.float32)[:, None], labels, np.ones(4, dtype=np.int64))
    print(name, *(f"{measure} {data.evaluate(model, measure)['1']:.4f}" for measure in ("map", "ndcg@4")))
worst = [0, 0, 1, 2]
for name, gain in (("label", lambda label: label), ("2^label - 1", lambda label: 2**label - 1)):
    worst_dcg, best_dcg = (
        sum(gain(label) / math.log2(rank + 2) for rank, label in enumerate(order)) for order in (worst, worst[::-1])
    )
    print(f"worst order, gain {name}: ndcg {worst_dcg / best_dcg:.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
