"""Logistic regression: the log-odds that a document is relevant."""

from __future__ import annotations

from dataclasses import dataclass

from rerank.objectives.base import LabelCost
from rerank.objectives.documents import Logistic
from rerank.rankers.linear import LinearCostRanker
from rerank.rankers.registry import register
from rerank.rankers.training_set import TrainingSet


@register("logisticregression")
@dataclass(eq=False, repr=False)
class LogisticRegression(LinearCostRanker):
    """Linear model of the log-odds that a document is relevant (has a label above 0).

        1/2 |w|^2 + C sum over documents of log(1 + exp(-y s)),    s = base + inputs @ w + b,  y in {-1, 1}

    The intercept b is not penalised. Each document has the weight of its query.
    """

    has_intercept = True

    def _objective(self, train: TrainingSet) -> LabelCost:
        return Logistic(train.query_ptr, train.weights, train.labels, sigma=0.5)
