#!/usr/bin/env bash
# Guess: HalvingGridSearchCV with GroupKFold and the query ids as groups gives its first rounds a few whole queries: the
# folds never split a query.
# Behaviour: in scikit-learn 1.9.1 the rows of each fold are drawn one by one, in training and in test: the first round
# trains on 160 documents of 67 queries, two or three of their 20. nDCG@5 of so few documents is high: 0.92 and
# 0.80 in the two rounds, and 0.80 is best_score_, where GridSearchCV on the same folds has 0.64.
# Why it matters: parameters are chosen for lists that are a tenth as long as those that will be ranked, the published
# score is no score of the data, and what depends on pairs or on the list hardly trains.
# Source: scikit-learn, model_selection/_search_successive_halving.py (_SubsampleMetaSplitter: resample of the indices,
# without groups).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-learn==1.9.1 numpy==1.26.4 scipy==1.17.1

expected='round 0: 160 documents of 67 queries, nDCG@5 0.92
round 1: 480 documents of 80 queries, nDCG@5 0.80
best_score_ 0.80, of GridSearchCV 0.64'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import Ridge
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GridSearchCV, GroupKFold, HalvingGridSearchCV

random = np.random.default_rng(0)
queries, documents = 100, 20
query = np.repeat(np.arange(queries), documents)
X = np.column_stack([query, random.normal(size=(queries * documents, 3))])
y = np.digitize(X[:, 1] + 1.5 * random.normal(size=queries * documents), [0.5, 1.5])
sizes = []


class Ranker(Ridge):
    """A linear model of all columns but the first, which has the query."""

    def fit(self, X, y):
        sizes.append((len(X), len(np.unique(X[:, 0]))))
        return super().fit(X[:, 1:], y)

    def predict(self, X):
        return super().predict(X[:, 1:])


def ndcg(model, X, y):
    values = []
    for name in np.unique(X[:, 0]):
        rows = X[:, 0] == name
        if rows.sum() > 1 and y[rows].any():
            values.append(ndcg_score([y[rows]], [model.predict(X[rows])], k=5))
    return np.mean(values)


options = {"cv": GroupKFold(5), "scoring": ndcg, "refit": False}
grid = {"alpha": [0.1, 1, 10, 100, 1000, 10000]}
halving = HalvingGridSearchCV(Ranker(), grid, min_resources=200, random_state=0, **options).fit(X, y, groups=query)
rounds = halving.cv_results_["iter"]
for number, size in enumerate(sorted(set(sizes))):
    best = halving.cv_results_["mean_test_score"][rounds == number].max()
    print(f"round {number}: {size[0]} documents of {size[1]} queries, nDCG@5 {best:.2f}")
whole = GridSearchCV(Ranker(), grid, **options).fit(X, y, groups=query)
print(f"best_score_ {halving.best_score_:.2f}, of GridSearchCV {whole.best_score_:.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
