"""Boosted trees on costs that labels define: MART, LogistRank (Yin et al. 2016), GBRank (Zheng et al. 2007)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from rerank.errors import InvalidInputError
from rerank.objectives.base import Objective, RandomObjective, known_objectives, objective_class
from rerank.objectives.gbrank import GBRankObjective
from rerank.objectives.pointwise import LogistRankObjective
from rerank.objectives.preferences import ExponentialPairs, PreferencePairs
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.parameters import parameter
from rerank.rankers.ranker import register
from rerank.rankers.training import TrainingSet
from rerank.runtime.schema import Choice, Flag, Number
from rerank.trees.boost import Gradients
from rerank.types import Floats

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
        if train.pairs is None:
            kind = objective_class(self.objective)
            if len(train.row_weights) and not kind.weighs_rows:
                able = ", ".join(name for name, each in known_objectives().items() if each.weighs_rows)
                raise InvalidInputError(
                    f"objective: expected {able} beside weights of rows, got {self.objective!r}. Choose one of them, "
                    "or give all rows of a query one weight."
                )
            of_labels = kind(train.query_ptr, train.weights, train.labels, documents=train.row_weights)
            return replace(of_labels, seed=self._seed()) if isinstance(of_labels, RandomObjective) else of_labels
        if self.objective not in OF_PAIRS:
            raise InvalidInputError(
                f"objective: expected {' or '.join(OF_PAIRS)} beside preferences, got {self.objective!r}. Choose one "
                "of them."
            )
        objective: Objective = OF_PAIRS[self.objective](*train.weighted_pairs(evenly=False))
        return objective

    def _gradients(self, objective: Objective) -> Gradients:
        return objective.of_trees() if isinstance(objective, RandomObjective) else objective.gradients

    def _remembers_gradients(self) -> bool:
        return issubclass(objective_class(self.objective), RandomObjective)


@register("logistrank")
@dataclass(eq=False, repr=False)
class LogistRank(BoostedTrees):
    """Boosted regression trees on the responses y / (1 + exp(y F)) times scale(label), 3, 2, 1, 1, 1 from perfect down.

    y is 1 for the upper half of the grades, else -1. A leaf is sum r / sum |r (2 - |r|)| over its responses r; F_0 is
    the mean of y. Conventions for other grades than five: `rerank.objectives.pointwise`.

    References
    ----------
    D. Yin et al., Ranking relevance in Yahoo search, KDD 2016, section 3.

    """

    def _objective(self, train: TrainingSet) -> Objective:
        return LogistRankObjective(train.query_ptr, train.weights, train.labels)


@register("gbrank")
@dataclass(eq=False, repr=False)
class GBRank(BoostedTrees):
    """Regression trees trained on the pairs of documents that are in the wrong order.

    Each iteration selects the pairs in which x has a higher label than y but h(x) < h(y) + tau. A tree g is fitted to
    the targets h(y) + tau for x and h(x) - tau for y, and is averaged with the earlier trees:

        h_k = (k h_(k-1) + learning_rate g_k) / (k + 1)

    `predict` returns (k + 1) h_k, which gives the same order and keeps the unit of the base scores. The curvature of a
    row is its number of targets, so that splits and leaves are those of least squares. h_0 is the base score minus the
    mean of the query, divided by the spread of the base scores, so that the targets are around 0.

    References
    ----------
    Z. Zheng et al., A general boosting method and its application to learning ranking functions for web search,
    NIPS 2007, algorithm 1.

    """

    learning_rate: float = parameter(
        1.0, Number(1e-9, 10.0), "Weight eta of each tree in the average of the trees.", search=(0.25, 0.5, 1.0, 2.0)
    )
    tau: float = parameter(
        0.1,
        Number(1e-9, 1e9),
        "Margin between the two documents of a pair; for a warm start, in units of the spread of the base scores at "
        "the top.",
    )
    keep_pairs: bool = parameter(
        False,
        Flag(),
        "Whether to train each tree on the misordered pairs of all iterations so far, with the targets of their "
        "iteration, instead of those of the current iteration only.",
    )

    averages: ClassVar[bool] = True

    def _objective(self, train: TrainingSet) -> Objective:
        return GBRankObjective(train.query_ptr, train.weights, train.labels, self.tau)

    def _gradients(self, objective: Objective) -> Gradients:
        return _Targets(objective, self.keep_pairs).gradients

    def _remembers_gradients(self) -> bool:
        return self.keep_pairs


class _Targets:
    """Gradients at g = 0 of the squared distance of a tree g from the targets: its leaves become their means."""

    def __init__(self, objective: Objective, keep: bool) -> None:
        self._objective, self._keep = objective, keep
        self._sums: Floats | float = 0.0
        self._counts: Floats | float = 0.0

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad (n_rows,) with the negative sum of each row's targets, hess with their number."""
        self._objective.gradients(scores, grad, hess)
        grad -= hess * scores
        grad += self._sums
        hess += self._counts
        if self._keep:
            self._sums, self._counts = grad.copy(), hess.copy()
