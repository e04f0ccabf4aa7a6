#!/usr/bin/env bash
# Guess: the under-samplers of imbalanced-learn take rows out and leave the others in their order, so that the documents
# of a query stay together.
# Behaviour: imbalanced-learn 0.14.2 returns the rows by label: RandomUnderSampler and NearMiss all that are kept of the
# documents that are not relevant, in no order of the queries, then all that are relevant. The documents of six queries
# come in 19 pieces. RandomOverSampler puts its copies behind the last query. TomekLinks keeps the order.
# Why it matters: thinning out the documents that are not relevant is usual before a ranker is trained, and LightGBM and
# others take the sizes of groups, that is of consecutive rows. With the right sizes of the queries that are left, most
# groups have one label and several queries. Nothing complains, and the ranker is as good as a random one.
# Source: imbalanced-learn, under_sampling/_prototype_selection/_random_under_sampler.py (indices are gathered by
# class); over_sampling/_random_over_sampler.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    cloudpickle==3.1.3 imbalanced-learn==0.14.2 joblib==1.6.0 lightgbm==4.7.0 narwhals==2.29.0 numpy==2.4.6 \
    scikit-learn==1.9.1 scipy==1.17.1 sklearn-compat==0.1.6 threadpoolctl==3.8.0

expected='imbalanced-learn 0.14.2
RandomUnderSampler: 19 pieces of the same query; queries, then labels
  4430133144325052200011112234455555
  0000000000000000011111111111111111
NearMiss: 19 pieces of the same query; queries, then labels
  5515101001440244100011112234455555
  0000000000000000011111111111111111
TomekLinks: 6 pieces of the same query; queries, then labels
  00000000111111222222222333333333344444444555555555
  01110000111010110000000001000000000000101011010011
RandomOverSampler: 27 pieces of the same query; queries, then labels
  00000000001111111111222222222233333333334444444444555555555555011231150125152351550152
  01110000000101010010110000000000100000000000001010010101001111111111111111111111111111
ranker of the rows as it is returned: precision at 1 0.31
ranker of the rows sorted by query: precision at 1 0.51'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from collections import Counter
from importlib.metadata import version
from itertools import groupby

import numpy as np
from imblearn.over_sampling import RandomOverSampler
from imblearn.under_sampling import NearMiss, RandomUnderSampler, TomekLinks
from lightgbm import LGBMRanker

print(f"imbalanced-learn {version('imbalanced-learn')}")
generator = np.random.default_rng(0)


def make(queries):
    ids = np.repeat(np.arange(queries), 10)
    # The feature tells the label within a query, and another number of the query is added to it.
    labels = (generator.random(10 * queries) < 0.3).astype(int)
    feature = labels + generator.normal(size=10 * queries) + 3 * np.repeat(generator.normal(size=queries), 10)
    return np.column_stack([ids, feature]), labels


rows, labels = make(6)
for sampler in (RandomUnderSampler(random_state=0), NearMiss(), TomekLinks(), RandomOverSampler(random_state=0)):
    kept, kept_labels = sampler.fit_resample(rows, labels)
    ids = kept[:, 0].astype(int)
    pieces = len(list(groupby(ids)))
    print(f"{type(sampler).__name__}: {pieces} pieces of the same query; queries, then labels")
    print(f"  {''.join(map(str, ids))}")
    print(f"  {''.join(map(str, kept_labels))}")

rows, labels = make(300)
test, test_labels = make(300)
kept, kept_labels = RandomUnderSampler(random_state=0).fit_resample(rows, labels)
sizes = Counter(kept[:, 0])
order = np.argsort(kept[:, 0], kind="stable")
for name, chosen in {"as it is returned": np.arange(len(kept)), "sorted by query": order}.items():
    model = LGBMRanker(n_estimators=30, verbose=-1)
    model.fit(kept[chosen][:, 1:], kept_labels[chosen], group=[sizes[query] for query in sorted(sizes)])
    scores = model.predict(test[:, 1:])
    first = [block.argmax() for block in scores.reshape(-1, 10)]
    right = test_labels.reshape(-1, 10)[np.arange(300), first].mean()
    print(f"ranker of the rows {name}: precision at 1 {right:.2f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
