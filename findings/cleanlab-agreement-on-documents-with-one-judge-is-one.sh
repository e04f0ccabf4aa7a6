#!/usr/bin/env bash
# Guess: annotator_agreement of cleanlab's get_label_quality_multiannotator has no value for a document that one person
# has judged; its mean says how well the judges agree.
# Behaviour: in cleanlab 2.7.1 it is the share of the judgements that are the consensus, 1 for a lone judgement. Where
# half of the documents have one judgement and the others three whose agreement is .82, the mean is .91; with one
# judgement for nine of ten documents it is .98. The judges are the same.
# Why it matters: the column is reported as agreement of a collection. Judging fewer documents twice, the usual way to
# save, makes it better, and so does any comparison with a collection that was judged once.
# Source: cleanlab, multiannotator.py (annotator_agreement: the mean of labels equal to the consensus).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    cleanlab==2.7.1 numpy==1.26.4 pandas==2.2.3 scikit-learn==1.5.2 scipy==1.15.3

expected='one judgement for 0 of 300: mean agreement 0.82, of these nan, of those with three 0.82
one judgement for 150 of 300: mean agreement 0.91, of these 1.00, of those with three 0.82
one judgement for 270 of 300: mean agreement 0.98, of these 1.00, of those with three 0.82'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import pandas as pd
from cleanlab.multiannotator import get_label_quality_multiannotator

random = np.random.default_rng(0)
n_docs = 300
truth = random.integers(0, 3, n_docs)
judges = [np.where(random.random(n_docs) < 0.7, truth, random.integers(0, 3, n_docs)) for _ in range(3)]
model = 0.1 + 0.7 * np.eye(3)[truth]
for n_single in (0, 150, 270):
    labels = pd.DataFrame(dict(zip("abc", judges))).astype(float)
    labels.loc[: n_single - 1, ["b", "c"]] = np.nan
    quality = get_label_quality_multiannotator(labels, model, consensus_method="majority_vote", verbose=False)
    agreement = quality["label_quality"].annotator_agreement
    single = agreement[:n_single].mean() if n_single else float("nan")
    print(f"one judgement for {n_single} of {n_docs}: mean agreement {agreement.mean():.2f}, "
          f"of these {single:.2f}, of those with three {agreement[n_single:].mean():.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
