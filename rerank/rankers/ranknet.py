"""RankNet: a two-layer net on the pairwise logistic cost, from labels or from preference pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InvalidInputError
from rerank.objectives.base import Objective
from rerank.objectives.pairwise_logistic import PairwiseLogistic
from rerank.objectives.preference_pairs import PreferencePairs
from rerank.rankers.netranker import NetRanker
from rerank.rankers.preferences import PreferenceRows
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet, pair_counts
from rerank.types import Preferences, RankingData


@register("ranknet")
class RankNet(NetRanker):
    """A two-layer net that minimises the pairwise logistic cost (Burges 2010, section 2).

    P_ij = 1 / (1 + exp(-(s_i - s_j))) is the probability that document i is better than j; the cost of a pair is the
    cross entropy with what is known, P̄_ij: 1 where i has the higher label, or what preference pairs say. Each query
    weighs its weight, whatever its number of pairs.

    hidden_units           hidden units (tanh)
    n_epochs               most passes over the queries; the learning rate falls to 0 over them
    learning_rate          learning rate of the first update; updates are Adam's, one a query
    reg_lambda             weight decay: reg_lambda / 2 |w|^2 is added to the cost of each query
    metric                 measure that early stopping watches, by ir_measures' name
    early_stopping_rounds  epochs without a better validation measure before training stops
    base                   None (cold), "run", "feature:NAME", a run, or a fitted ranker
    random_state           seed of the first weights and of the order of the queries
    n_jobs                 threads of prediction; training has one
    """

    _pairs: PreferenceRows | None = None  # during `fit`

    def __init__(
        self,
        hidden_units: int = 32,
        n_epochs: int = 50,
        learning_rate: float = 0.001,
        reg_lambda: float = 0.001,
        metric: str = "nDCG@10",
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
        self.early_stopping_rounds = early_stopping_rounds
        self.base = base
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: RankingData | ArrayLike,
        y: ArrayLike | None = None,
        *,
        preferences: Preferences | Iterable[Sequence[Any]] | None = None,
        **arguments: Any,
    ) -> Self:
        """Learn to rank as `Ranker.fit`, or from preference pairs.

        preferences  a record, or (qid, better docid, worse docid[, probability]) rows: they take the place of the
                     labels, which may then be missing. X is RankingData, which knows its documents.
        """
        if preferences is not None:
            if not isinstance(X, RankingData):
                raise InvalidInputError(
                    "preferences: expected RankingData beside them, found arrays without document ids; pass a record."
                )
            self._pairs = PreferenceRows.of(Preferences.of(preferences), X)
            X = X if X.labels is not None else replace(X, labels=np.zeros(X.n_rows))
        try:
            return super().fit(X, y, **arguments)
        finally:
            self._pairs = None

    def _objective(self, query: TrainingSet) -> Objective | None:
        if self._pairs is None:
            if len(np.unique(query.labels)) < 2:
                return None
            return PairwiseLogistic(query.query_ptr, query.weights / pair_counts(query), query.labels)
        better, worse, probabilities = self._pairs.of_query(query.order)
        if not len(better):
            return None
        return PreferencePairs(query.query_ptr, query.weights / len(better), better, worse, probabilities)
