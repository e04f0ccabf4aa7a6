"""RankNet: a two-layer net on the pairwise logistic cost, from labels or from preference pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InvalidInputError
from rerank.objectives.base import Objective
from rerank.objectives.preferences import PreferencePairs
from rerank.objectives.ranknet import RankNet as PairwiseLogistic
from rerank.preferences import Preferences
from rerank.rankers.netranker import NetRanker
from rerank.rankers.preferences import PreferenceRows
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet, pair_counts
from rerank.types import RankingData


@register("ranknet")
@dataclass(eq=False, repr=False)
class RankNet(NetRanker):
    """A two-layer net that minimises the pairwise logistic cost (Burges 2010, section 2).

    P_ij = 1 / (1 + exp(-(s_i - s_j))) is the probability that document i is better than j; the cost of a pair is the
    cross entropy with what is known, P̄_ij: 1 where i has the higher label, or what preference pairs say. Each query
    weighs its weight, whatever its number of pairs.
    """

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
        self._pairs = None if preferences is None else _found(preferences, X)
        if preferences is not None and isinstance(X, RankingData) and X.labels is None:
            X = replace(X, labels=np.zeros(X.n_rows))
        try:
            return super().fit(X, y, **arguments)
        finally:
            del self._pairs

    def _objective(self, query: TrainingSet) -> Objective | None:
        if self._pairs is None:
            if len(np.unique(query.labels)) < 2:
                return None
            return PairwiseLogistic(query.query_ptr, query.weights / pair_counts(query), query.labels)
        better, worse, probabilities = self._pairs.of_query(query.order)
        if not len(better):
            return None
        weights = np.full(len(better), query.weights[0] / len(better))
        return PreferencePairs(better, worse, probabilities, weights)


def _found(preferences: Preferences | Iterable[Sequence[Any]], X: RankingData | ArrayLike) -> PreferenceRows:
    if not isinstance(X, RankingData):
        raise InvalidInputError(
            "preferences: expected RankingData beside them, found arrays without document ids; pass a record."
        )
    return PreferenceRows.of(Preferences.of(preferences), X)
