"""RankSVM: the linear ranker of the pairwise hinge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rerank.objectives.base import LabelCost
from rerank.objectives.pairs import Hinge
from rerank.rankers.bundle import minimise_by_bundle
from rerank.rankers.linear import Cost, LinearCostRanker
from rerank.rankers.parameters import parameter
from rerank.rankers.registry import register
from rerank.rankers.training_set import TrainingSet, pair_counts
from rerank.runtime.fields import Number, Whole
from rerank.types import Floats

HINGE_TOLERANCE = 1e-3  # share of the weights' norm by which the minimum may be missed


@register("ranksvm")
@dataclass(eq=False, repr=False)
class RankSVM(LinearCostRanker):
    """Linear ranker that minimises the pairwise hinge.

        1/2 |w|^2 + C sum over queries of the mean over pairs with l_i > l_j of max(0, 1 - (s_i - s_j))

    The cost of a query is multiplied by its weight, whatever its number of pairs. The minimum is unique; the bundle
    method finds its weights to within a thousandth.

    References
    ----------
    T. Joachims, Optimizing search engines using clickthrough data, KDD 2002.
    R. Herbrich, T. Graepel and K. Obermayer, Large margin rank boundaries for ordinal regression, 2000.

    """

    C: float = parameter(
        0.1,
        Number(1e-12, 1e12),
        "Inverse of the regularisation strength, as in scikit-learn: smaller values regularise more.",
        search=(0.001, 0.01, 0.1, 1.0, 10.0),
    )

    max_iter: int = parameter(1000, Whole(1, 1_000_000), "Maximum number of iterations.")

    def _objective(self, train: TrainingSet) -> LabelCost:
        return Hinge(train.query_ptr, train.weights / pair_counts(train), train.labels)

    def _iterates(self, cost: Cost) -> Iterator[Floats]:
        return minimise_by_bundle(cost.value_and_gradient, cost.n_weights, HINGE_TOLERANCE, self.max_iter)
