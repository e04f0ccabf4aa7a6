"""LogistRank: boosted trees on the logistic cost of labels (Yin et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass

from rerank.objectives.base import Objective
from rerank.objectives.documents import LogistRankObjective
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.registry import register
from rerank.rankers.training_set import TrainingSet


@register("logistrank")
@dataclass(eq=False, repr=False)
class LogistRank(BoostedTrees):
    """Boosted regression trees on the responses y / (1 + exp(y F)) times scale(label), 3, 2, 1, 1, 1 from perfect down.

    y is 1 for the upper half of the grades, else -1. A leaf is sum r / sum |r (2 - |r|)| over its responses r; F_0 is
    the mean of y. Conventions for other grades than five: `rerank.objectives.documents`.

    References
    ----------
    D. Yin et al., Ranking relevance in Yahoo search, KDD 2016, section 3.

    """

    def _objective(self, train: TrainingSet) -> Objective:
        return LogistRankObjective(train.query_ptr, train.weights, train.labels)
