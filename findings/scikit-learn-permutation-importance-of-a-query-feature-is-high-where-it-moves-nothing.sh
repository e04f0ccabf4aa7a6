#!/usr/bin/env bash
# Guess: the permutation importance of a feature, with nDCG for the score, says how much of nDCG the feature earns.
# Behaviour: permutation_importance of scikit-learn 1.9.1 permutes a column over all rows, across queries. A feature of
# the query, the same for all of its documents, differs within queries then: a linear model, in which it can change no
# order, loses 0.20 of nDCG, beside 0.34 for the feature that makes the whole order. With the column constant, nDCG is
# what it was.
# Why it matters: features of queries (their length, their idf) come out high in tables of importance, and are kept, or
# published, for what they do not do.
# Source: scikit-learn, inspection/_permutation_importance.py (the permutation takes no groups).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    scikit-learn==1.9.1 numpy==1.26.4 scipy==1.17.1

expected='nDCG: 0.946, query feature constant: 0.946
importance: query feature 0.20, document feature 0.34'

observed=$("$folder/venv/bin/python" - <<'EOF'
import numpy as np
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.metrics import ndcg_score

random = np.random.default_rng(0)
queries, documents = 80, 12
query_feature = np.repeat(random.normal(size=queries), documents)
document_feature = random.normal(size=queries * documents)
signal = 2 * query_feature + document_feature + 0.5 * random.normal(size=queries * documents)
y = np.digitize(signal, [0, 1.5])
X = np.column_stack([query_feature, document_feature])


def ndcg(model, X, y):
    grades = y.reshape(queries, documents)
    relevant = grades.max(axis=1) > 0
    return ndcg_score(grades[relevant], model.predict(X).reshape(queries, documents)[relevant], k=5)


model = LinearRegression().fit(X, y)
print(f"nDCG: {ndcg(model, X, y):.3f}, query feature constant: {ndcg(model, X * [0, 1], y):.3f}")
importance = permutation_importance(model, X, y, scoring=ndcg, n_repeats=20, random_state=0).importances_mean
print(f"importance: query feature {importance[0]:.2f}, document feature {importance[1]:.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
