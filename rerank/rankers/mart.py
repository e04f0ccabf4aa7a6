"""MART: boosted trees on any objective that labels alone define."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rerank.errors import InvalidInputError
from rerank.objectives.base import Objective
from rerank.objectives.preferences import ExponentialPairs, PreferencePairs
from rerank.objectives.registry import known_objectives, objective_class
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.parameters import parameter
from rerank.rankers.preferences import LearnsFromPairs
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet
from rerank.runtime.schema import Choice

OF_PAIRS: Mapping[str, type[PreferencePairs | ExponentialPairs]] = {
    "ranknet": PreferencePairs,
    "exponential": ExponentialPairs,
}


@register("mart")
@dataclass(eq=False, repr=False)
class MART(LearnsFromPairs, BoostedTrees):
    """Boosted regression trees on any cost that labels alone define.

    F_0 is the mean label for least-squares, half the log odds for logistic and balanced-logistic, the mean of y for
    logistrank, 0 for pairs.
    From preference pairs it minimises the cost of these pairs, each with its query's weight, for the objectives
    ranknet and exponential.

    References
    ----------
    J. Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 29, 2001.
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, sections 5 and 6.

    """

    objective: str = parameter("least-squares", Choice(known_objectives), "Cost that is minimised, by name.")

    def _objective(self, train: TrainingSet) -> Objective:
        if self._pairs is None:
            return objective_class(self.objective)(train.query_ptr, train.weights, train.labels)
        if self.objective not in OF_PAIRS:
            raise InvalidInputError(
                f"objective: expected {' or '.join(OF_PAIRS)} beside preferences, got {self.objective!r}. Choose one "
                "of them."
            )
        objective: Objective = OF_PAIRS[self.objective](*self._canonical_pairs(self._pairs, train, evenly=False))
        return objective
