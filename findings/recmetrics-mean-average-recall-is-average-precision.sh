#!/usr/bin/env bash
# Guess: mark ("mean average recall at k") of recmetrics is a recall: 1 where all relevant items are among the first k,
# wherever they are, or the mean of the recall at 1 to k.
# Behaviour: in recmetrics 0.1.5 it is average precision, with all relevant items as the divisor: the sum of the
# *precision* at each hit. Lists of ten that hold both relevant items at the end have .16; on random lists it is
# map_cut of trec_eval to the last digit. The MAP@k of Kaggle (ml_metrics) has another divisor, min(k, relevant): for
# users with at most k items the two are equal.
# Why it matters: MAP@k and MAR@k are plotted side by side (mapk_plot, mark_plot) as precision and recall; they are one
# measure twice, and a recommender that finds everything late looks like one that finds a sixth of it.
# Source: recmetrics, metrics.py (_ark, mark).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==1.26.4 scipy==1.15.3 pandas==2.2.3 scikit-learn==1.5.2 matplotlib==3.9.4 seaborn==0.13.2 plotly==5.24.1 \
    funcsigs==1.0.2 pytrec-eval-terrier==0.5.10
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps recmetrics==0.1.5

expected="relevant ['a', 'b']: recall 1.0, mean of recall at 1 to 10 0.95, mark 1.00
relevant ['e', 'f']: recall 1.0, mean of recall at 1 to 10 0.55, mark 0.27
relevant ['i', 'j']: recall 1.0, mean of recall at 1 to 10 0.15, mark 0.16
largest difference from map_cut_10 of trec_eval over 200 lists: 0.0000000000"

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2>/dev/null <<'EOF'
import numpy as np
import pytrec_eval
from recmetrics import mark, recommender_recall

places = list("abcdefghij")
for relevant in (["a", "b"], ["e", "f"], ["i", "j"]):
    curve = [len(set(places[:k]) & set(relevant)) / len(relevant) for k in range(1, 11)]
    print(f"relevant {relevant}: recall {recommender_recall([places], [relevant])}, mean of recall at 1 to 10 "
          f"{np.mean(curve):.2f}, mark {mark([relevant], [places], k=10):.2f}")
random = np.random.default_rng(0)
differences = []
for _ in range(200):
    listed = [f"d{item}" for item in random.permutation(40)[:10]]
    relevant = [f"d{item}" for item in random.permutation(40)[: random.integers(1, 20)]]
    run = {"q": {item: float(10 - place) for place, item in enumerate(listed)}}
    evaluator = pytrec_eval.RelevanceEvaluator({"q": dict.fromkeys(relevant, 1)}, {"map_cut_10"})
    differences.append(abs(evaluator.evaluate(run)["q"]["map_cut_10"] - mark([relevant], [listed], k=10)))
print("largest difference from map_cut_10 of trec_eval over 200 lists:", f"{max(differences):.10f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
