"""RankSVM: a linear ranker on the pairwise hinge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rerank.objectives.base import Objective
from rerank.objectives.hinge import Hinge
from rerank.rankers.bundle import minimise_by_bundle
from rerank.rankers.linear import Cost, LinearRanker
from rerank.rankers.parameters import parameter
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet, pair_counts
from rerank.runtime.schema import Number, Whole
from rerank.types import Floats

TOLERANCE = 1e-3  # share of the weights' norm by which the minimum may be missed


@register("ranksvm")
@dataclass(eq=False, repr=False)
class RankSVM(LinearRanker):
    """Linear ranker that minimises the pairwise hinge.

        1/2 |w|^2 + C sum over queries of the mean over pairs with l_i > l_j of max(0, 1 - (s_i - s_j))

    Each query weighs its weight, whatever its number of pairs. The bundle method (bundle.py) ends within a thousandth
    of the weights of the minimum, which is unique.

    References
    ----------
    T. Joachims, Optimizing search engines using clickthrough data, KDD 2002.
    R. Herbrich, T. Graepel and K. Obermayer, Large margin rank boundaries for ordinal regression, 2000.

    """

    C: float = parameter(
        0.1,
        Number(1e-12, 1e12),
        "Weight of the cost against the penalty of large weights: the larger, the less regular.",
        search=(0.001, 0.01, 0.1, 1.0, 10.0),
    )

    max_iter: int = parameter(1000, Whole(1, 1_000_000), "Most iterations of the search.")

    def _objective(self, train: TrainingSet) -> Objective:
        return Hinge(train.query_ptr, train.weights / pair_counts(train), train.labels)

    def _minimise(self, cost: Cost, follow: Callable[[Floats], None]) -> None:
        minimise_by_bundle(cost.value_and_gradient, cost.n_weights, TOLERANCE, self.max_iter, follow)
