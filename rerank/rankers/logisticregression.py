"""LogisticRegression: a linear ranker of single documents, relevant or not."""

from __future__ import annotations

from dataclasses import dataclass

from rerank.objectives.base import Objective
from rerank.objectives.logistic import Logistic
from rerank.rankers.linear import LinearRanker
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet


@register("logisticregression")
@dataclass(eq=False, repr=False)
class LogisticRegression(LinearRanker):
    """Linear ranker by the log-odds that a document is relevant, its label above 0.

        1/2 |w|^2 + C sum over documents of log(1 + exp(-y s)),    s = base + inputs @ w + b,  y in {-1, 1}

    b, the intercept, is not penalised. A document weighs its query's weight.
    """

    has_intercept = True

    def _objective(self, train: TrainingSet) -> Objective:
        return Logistic(train.query_ptr, train.weights, train.labels, sigma=0.5)
