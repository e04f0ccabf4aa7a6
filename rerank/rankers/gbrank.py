"""GBRank: regression trees that correct misordered pairs (Zheng et al. 2007)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rerank.objectives.base import Objective
from rerank.objectives.gbrank import GBRankObjective
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet
from rerank.runtime.schema import Field, Flag, Number
from rerank.trees.boost import Gradients
from rerank.types import Floats


@register("gbrank")
@dataclass(eq=False, repr=False)
class GBRank(BoostedTrees):
    """Regression trees on the pairs that stand wrong.

    Each round takes the pairs with x above y in label and h(x) < h(y) + tau, fits a tree g to the targets h(y) + tau
    of x and h(x) - tau of y, and takes it into the mean

        h_k = (k h_(k-1) + learning_rate g_k) / (k + 1)

    `predict` gives (k + 1) h_k, which ranks alike and leaves the base scores in their unit. The curvature is the number
    of a row's targets, so that splits and leaves are those of least squares. h_0 is the base less each query's mean,
    in units of the base's spread: targets then lie about 0. The parameters of `BoostedTrees`, and:

    learning_rate          weight of each tree in the mean: eta
    tau                    margin of a pair; for a warm start in units of the spread of the base scores at the top
    keep_pairs             fit each tree to the wrong pairs of all rounds so far, each with the targets it got in its
                           round, not only to those of this round
    """

    learning_rate: float = 1.0
    tau: float = 0.1
    keep_pairs: bool = False

    averages = True
    parameter_fields: ClassVar[Mapping[str, Field]] = {
        **BoostedTrees.parameter_fields,
        "tau": Number(1e-9, 1e9),
        "keep_pairs": Flag(),
    }

    def _objective(self, train: TrainingSet) -> Objective:
        return GBRankObjective(train.query_ptr, train.weights, train.labels, self.tau)

    def _gradients(self, objective: Objective) -> Gradients:
        return _Targets(objective, self.keep_pairs).gradients


class _Targets:
    """Gradients at g = 0 of the squared distance of a tree g from the targets: its leaves become their means."""

    def __init__(self, objective: Objective, keep: bool) -> None:
        self._objective, self._keep = objective, keep
        self._sums: Floats | float = 0.0
        self._counts: Floats | float = 0.0

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad (n_rows,) with minus the sum of each row's targets, hess with their number."""
        self._objective.gradients(scores, grad, hess)
        grad -= hess * scores
        grad += self._sums
        hess += self._counts
        if self._keep:
            self._sums, self._counts = grad.copy(), hess.copy()
