"""MART: boosted trees on any objective that labels alone define."""

from __future__ import annotations

from dataclasses import dataclass

from rerank.objectives.base import Objective
from rerank.objectives.registry import objective_class
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet


@register("mart")
@dataclass(eq=False, repr=False)
class MART(BoostedTrees):
    """Boosted regression trees (Friedman 2001; Burges 2010, sections 5 and 6).

    F_0 is the mean label for least-squares, half the log odds for logistic and balanced-logistic, 0 for pairs.
    The parameters of `BoostedTrees`, and:

    objective              what is minimised, by name (`rerank.objectives.registry`)
    """

    objective: str = "least-squares"

    def _objective(self, train: TrainingSet) -> Objective:
        return objective_class(self.objective)(train.query_ptr, train.weights, train.labels)
