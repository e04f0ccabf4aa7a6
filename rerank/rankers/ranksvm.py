"""RankSVM: a linear ranker on the pairwise hinge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rerank.objectives.base import Objective
from rerank.objectives.pairwise_hinge import PairwiseHinge
from rerank.rankers.bundle import minimise_by_bundle
from rerank.rankers.linear import Cost, LinearRanker
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet, pair_counts
from rerank.types import Floats

TOLERANCE = 1e-3  # share of the cost by which the minimum may be missed


@register("ranksvm")
class RankSVM(LinearRanker):
    """Linear ranker that minimises the pairwise hinge (Joachims 2002; Herbrich, Graepel and Obermayer 2000).

        1/2 |w|^2 + C sum over queries of the mean over pairs with l_i > l_j of max(0, 1 - (s_i - s_j))

    Each query weighs its weight, whatever its number of pairs. The bundle method (bundle.py) ends within a thousandth
    of the least cost.

    C                      weight of the cost against that of large weights: the larger, the less regular
    max_iter               most rounds of the bundle method
    metric                 measure that early stopping watches, by ir_measures' name
    early_stopping_rounds  iterations without a better validation measure before training stops
    base                   None (cold), "run", "feature:NAME", a run, or a fitted ranker
    n_jobs                 threads; None or -1 for all cores. The model does not depend on it.
    """

    def __init__(
        self,
        C: float = 0.1,
        max_iter: int = 200,
        metric: str = "nDCG@10",
        early_stopping_rounds: int = 50,
        base: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.max_iter = max_iter
        self.metric = metric
        self.early_stopping_rounds = early_stopping_rounds
        self.base = base
        self.n_jobs = n_jobs

    def _objective(self, train: TrainingSet) -> Objective:
        return PairwiseHinge(train.query_ptr, train.weights / pair_counts(train), train.labels)

    def _minimise(self, cost: Cost, follow: Callable[[Floats], None]) -> None:
        minimise_by_bundle(cost.value_and_gradient, cost.n_weights, TOLERANCE, self.max_iter, follow)
