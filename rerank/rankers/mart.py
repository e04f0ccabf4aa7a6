"""MART: boosted regression trees on a cost that labels define."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from rerank.errors import InvalidInputError
from rerank.objectives.base import Objective, known_objectives, objective_class
from rerank.objectives.lists import CrossEntropyNDCG
from rerank.objectives.pairs import ExponentialPairs, PreferencePairs
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.parameters import parameter
from rerank.rankers.registry import register
from rerank.rankers.training_set import TrainingSet
from rerank.runtime.fields import Choice

OF_PAIRS: Mapping[str, type[PreferencePairs | ExponentialPairs]] = {
    "ranknet": PreferencePairs,
    "exponential": ExponentialPairs,
}


@register("mart")
@dataclass(eq=False, repr=False)
class MART(BoostedTrees):
    """Boosted regression trees that minimise a cost function of the labels, e.g. least squares.

    F_0 is the mean label for least-squares, half the log odds for logistic and balanced-logistic, the mean of y for
    logistrank, and 0 for objectives of pairs.

    Preference pairs need the objective ranknet or exponential; each pair has the weight of its query.

    References
    ----------
    J. Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 29, 2001.
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, sections 5 and 6.

    """

    learns_from_pairs: ClassVar[bool] = True
    weighs_rows: ClassVar[bool] = True

    objective: str = parameter("least-squares", Choice(known_objectives), "Name of the cost function to minimise.")

    def _objective(self, train: TrainingSet) -> Objective:
        if train.pairs is not None and self.objective not in OF_PAIRS:
            raise InvalidInputError(
                f"objective: expected {' or '.join(OF_PAIRS)} beside preferences, got {self.objective!r}. Choose one "
                "of them."
            )
        if train.pairs is not None:
            return OF_PAIRS[self.objective](*train.weighted_pairs(evenly=False))
        kind = objective_class(self.objective)
        if len(train.row_weights) and not kind.weighs_rows:
            able = ", ".join(name for name, objective in known_objectives().items() if objective.weighs_rows)
            raise InvalidInputError(
                f"objective: expected {able} beside weights of rows, got {self.objective!r}. Choose one of them, "
                "or give all rows of a query one weight."
            )
        of_labels = kind(train.query_ptr, train.weights, train.labels, documents=train.row_weights)
        return replace(of_labels, seed=self._seed()) if isinstance(of_labels, CrossEntropyNDCG) else of_labels
