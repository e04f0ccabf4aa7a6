#!/usr/bin/env bash
# Guess: CrossEncoderRerankingEvaluator with the documents of a first stage compares both orders by the same measure: a
# model that keeps the order has the figures of the first stage.
# Behaviour: in sentence-transformers 5.1.2 relevant documents that the first stage missed are added to the end of its
# list. For the model they are added to the documents that it ranks (always_rerank_positives=True, the default), so that
# it can put first what was never retrieved; with False they are forgotten, and MAP and NDCG are those of a query that
# has no others. A model that keeps the order then goes from MAP .23 to .44; with True one that is sure of them alone
# has .92.
# Why it matters: the difference is what the log and the model card print as the gain of the reranker ("+0.21").
# Source: sentence_transformers/cross_encoder/evaluation/reranking.py (base_is_relevant is filled up, is_relevant of
# the model is as long as its documents, and num_ignored_positives therefore 0).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    sentence-transformers==5.1.2 transformers==4.57.6 torch==2.13.0 numpy==1.26.4 scipy==1.15.3 scikit-learn==1.5.2

expected='always_rerank_positives=False, missed documents below all others: map 0.23 -> 0.44, ndcg@10 0.23 -> 0.50
always_rerank_positives=False, missed documents above all others: map 0.23 -> 0.44, ndcg@10 0.23 -> 0.50
always_rerank_positives=True, missed documents below all others: map 0.23 -> 0.28, ndcg@10 0.23 -> 0.23
always_rerank_positives=True, missed documents above all others: map 0.23 -> 0.92, ndcg@10 0.23 -> 0.96'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import numpy as np
from sentence_transformers.cross_encoder.evaluation import CrossEncoderRerankingEvaluator

retrieved = [f"document {rank}" for rank in range(1, 11)]
samples = [
    {"query": "first", "positive": ["document 1", "missed 1", "missed 2", "missed 3"], "documents": retrieved},
    {"query": "second", "positive": ["document 3", "missed 4"], "documents": retrieved},
    {"query": "third", "positive": ["missed 5"], "documents": retrieved},
]


class ModelCard:
    def set_evaluation_metrics(self, *args, **kwargs):
        """Nothing is kept."""


class Reranker:
    """Scores that keep the order of the first stage; documents that it missed have the same score each."""

    model_card_data = ModelCard()

    def __init__(self, score_of_missed):
        self.scores = {document: 1.0 - rank / 100 for rank, document in enumerate(retrieved)}
        self.score_of_missed = score_of_missed

    def predict(self, pairs, **kwargs):
        return np.array([self.scores.get(document, self.score_of_missed) for _, document in pairs])


for always in (False, True):
    for name, score in {"below all others": 0.0, "above all others": 2.0}.items():
        evaluator = CrossEncoderRerankingEvaluator(samples, always_rerank_positives=always, write_csv=False)
        values = evaluator(Reranker(score))
        print(f"always_rerank_positives={always}, missed documents {name}: " + ", ".join(
            f"{measure} {values['base_' + measure]:.2f} -> {values[measure]:.2f}" for measure in ("map", "ndcg@10")
        ))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
