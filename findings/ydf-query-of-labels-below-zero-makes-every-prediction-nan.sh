#!/usr/bin/env bash
# Guess: YDF refuses negative labels of a ranking, or counts them as not relevant, as trec_eval does with the -1 and
# -2 of web tracks.
# Behaviour: ydf 0.16.1 takes them. Where one query of the training data has no label above 0 and some of 0 and below,
# the default loss trains ten trees without a message, and every prediction of the model is NaN, for all queries;
# evaluate prints an NDCG. Labels below 0 beside relevant documents, and a query of zeros alone, do no harm, nor does
# the loss XE_NDCG_MART.
# Why it matters: qrels with junk labels train well until one query is added that has no relevant document. NaN is no
# error in a run: all documents of a query tie.
# Source: YDF, yggdrasil_decision_forests/learner/gradient_boosted_trees/loss/loss_imp_ndcg.cc: the change of NDCG of
# a pair of documents with different labels is multiplied by a factor of the query, one over its greatest DCG, 0 there.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ydf==0.16.1 numpy==2.4.6 pandas==3.1.1

expected='last query 0, 1, 2: 0 of 1000 predictions are NaN
last query -2, 0, 1, 2: 0 of 1000 predictions are NaN
last query 0: 0 of 1000 predictions are NaN
last query -1, 0: 1000 of 1000 predictions are NaN
last query -1, 0, XE_NDCG_MART: 0 of 1000 predictions are NaN'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
import pandas as pd
import ydf

ydf.verbose(0)
random = np.random.default_rng(0)
X = random.normal(size=(1000, 3))
labels = np.digitize(X[:, 0] + 0.5 * random.normal(size=1000), [0, 1])
rows = pd.DataFrame(X, columns=list("abc")).assign(query=np.repeat(np.arange(50), 20))


def train(name, last, **given):
    own = labels.copy()
    own[-20:] = np.resize(last, 20)
    data = rows.assign(label=own)
    learner = ydf.GradientBoostedTreesLearner(
        label="label", ranking_group="query", task=ydf.Task.RANKING, num_trees=10, validation_ratio=0.0, **given
    )
    scores = learner.train(data).predict(data)
    print(f"{name}: {np.isnan(scores).sum()} of 1000 predictions are NaN")


train("last query 0, 1, 2", [0, 1, 2])
train("last query -2, 0, 1, 2", [-2, 0, 1, 2])
train("last query 0", [0])
train("last query -1, 0", [-1, 0])
train("last query -1, 0, XE_NDCG_MART", [-1, 0], loss="XE_NDCG_MART")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
