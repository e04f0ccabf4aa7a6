"""LambdaRank: a two-layer net on RankNet's gradients, weighed by what swapping a pair does to a measure."""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.metrics.registry import parse_measure
from rerank.objectives.base import Objective
from rerank.objectives.for_measure import lambdarank_for
from rerank.rankers.netranker import RANGES, NetRanker
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet


@register("lambdarank")
class LambdaRank(NetRanker):
    """A two-layer net whose gradients are LambdaRank's (Burges 2010, section 4), for any measure.

        lambda_ij = -|dM_ij| / (1 + exp(s_i - s_j))    for documents i above j in label

    hidden_units           hidden units (tanh)
    n_epochs               most passes over the queries; the learning rate falls to 0 over them
    learning_rate          learning rate of the first update; updates are Adam's, one a query
    reg_lambda             weight decay: reg_lambda / 2 |w|^2 is added to the cost of each query
    metric                 measure that is trained for and that early stopping watches, by ir_measures' name
    truncation_level       depth that gradients look at: `lambdarank_truncation_level` of LightGBM
    normalize              even out the queries' gradients: `lambdarank_norm` of LightGBM
    early_stopping_rounds  epochs without a better validation measure before training stops
    base                   None (cold), "run", "feature:NAME", a run, or a fitted ranker
    random_state           seed of the first weights and of the order of the queries
    n_jobs                 threads of prediction; training has one
    """

    _ranges = (*RANGES, ("truncation_level", 1, 1_000_000))

    def __init__(
        self,
        hidden_units: int = 32,
        n_epochs: int = 50,
        learning_rate: float = 0.001,
        reg_lambda: float = 0.001,
        metric: str = "nDCG@10",
        truncation_level: int = 30,
        normalize: bool = True,
        early_stopping_rounds: int = 10,
        base: Any = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.hidden_units = hidden_units
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.metric = metric
        self.truncation_level = truncation_level
        self.normalize = normalize
        self.early_stopping_rounds = early_stopping_rounds
        self.base = base
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _objective(self, query: TrainingSet) -> Objective | None:
        if len(np.unique(query.labels)) < 2:
            return None
        measure = parse_measure(self.metric)
        if measure.score(np.sort(query.labels)[::-1], query.ideal_labels) == 0.0:
            return None
        return lambdarank_for(
            measure,
            query.labels,
            query.query_ptr,
            query.ideal_labels,
            query.ideal_ptr,
            query.weights,
            1.0,
            self.truncation_level,
            self.normalize,
        )
