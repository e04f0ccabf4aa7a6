"""PlackettLuce: a linear ranker on the likelihood of the judged order."""

from __future__ import annotations

from typing import Any

from rerank.objectives.base import Objective
from rerank.objectives.plackett_luce import PlackettLuce as Likelihood
from rerank.rankers.linear import LinearRanker
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet


@register("plackettluce")
class PlackettLuce(LinearRanker):
    """Linear ranker that maximises the Plackett-Luce likelihood of the judged order (Plackett 1975; ListMLE, Xia 2008).

        1/2 |w|^2 - C sum over queries of log P(judged order),    P = prod_r exp(s_r) / sum_{k not above r} exp(s_k)

    with the documents of a query in the order of their labels; `objectives/plackett_luce.py` says how equal labels
    count.

    C                      weight of the likelihood against that of large weights: the larger, the less regular
    max_iter               most iterations of L-BFGS
    metric                 measure that early stopping watches, by ir_measures' name
    early_stopping_rounds  iterations without a better validation measure before training stops
    base                   None (cold), "run", "feature:NAME", a run, or a fitted ranker
    n_jobs                 threads; None or -1 for all cores. The model does not depend on it.
    """

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
        return Likelihood(train.query_ptr, train.weights, train.labels)
