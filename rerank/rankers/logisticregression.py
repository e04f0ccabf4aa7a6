"""LogisticRegression: a linear ranker of single documents, relevant or not."""

from __future__ import annotations

from typing import Any

from rerank.objectives.base import Objective
from rerank.objectives.two_class import TwoClassLogistic
from rerank.rankers.linear import LinearRanker
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet


@register("logisticregression")
class LogisticRegression(LinearRanker):
    """Linear ranker by the log-odds that a document is relevant, its label above 0.

        1/2 |w|^2 + C sum over documents of log(1 + exp(-y s)),    s = base + inputs @ w + b,  y in {-1, 1}

    b, the intercept, is not held small. A document weighs its query's weight.

    C                      weight of the cost against that of large weights: the larger, the less regular
    max_iter               most iterations of L-BFGS
    metric                 measure that early stopping watches, by ir_measures' name
    early_stopping_rounds  iterations without a better validation measure before training stops
    base                   None (cold), "run", "feature:NAME", a run, or a fitted ranker
    n_jobs                 threads; None or -1 for all cores. The model does not depend on it.
    """

    has_intercept = True

    def __init__(
        self,
        C: float = 1.0,
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
        return TwoClassLogistic(train.query_ptr, train.weights, train.labels)
