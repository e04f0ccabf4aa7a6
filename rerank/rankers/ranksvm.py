"""RankSVM: a linear ranker on the pairwise hinge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rerank.objectives.base import Objective
from rerank.objectives.hinge import Hinge
from rerank.rankers.bundle import minimise_by_bundle
from rerank.rankers.linear import Cost, LinearRanker
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet, pair_counts
from rerank.types import Floats

TOLERANCE = 1e-3  # share of the cost by which the minimum may be missed


@register("ranksvm")
@dataclass(eq=False, repr=False)
class RankSVM(LinearRanker):
    """Linear ranker that minimises the pairwise hinge (Joachims 2002; Herbrich, Graepel and Obermayer 2000).

        1/2 |w|^2 + C sum over queries of the mean over pairs with l_i > l_j of max(0, 1 - (s_i - s_j))

    Each query weighs its weight, whatever its number of pairs. The bundle method (bundle.py) ends within a thousandth
    of the least cost.
    """

    C: float = 0.1

    def _objective(self, train: TrainingSet) -> Objective:
        return Hinge(train.query_ptr, train.weights / pair_counts(train), train.labels)

    def _minimise(self, cost: Cost, follow: Callable[[Floats], None]) -> None:
        minimise_by_bundle(cost.value_and_gradient, cost.n_weights, TOLERANCE, self.max_iter, follow)
