"""RankNet: a two-layer net on the pairwise logistic cost, from labels or from preference pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.objectives.base import Objective
from rerank.objectives.preferences import PreferencePairs
from rerank.objectives.ranknet import RankNetObjective
from rerank.rankers.netranker import NetRanker
from rerank.rankers.preferences import LearnsFromPairs
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet, pair_counts


@register("ranknet")
@dataclass(eq=False, repr=False)
class RankNet(LearnsFromPairs, NetRanker):
    """A two-layer net that minimises the pairwise logistic cost.

    P_ij = 1 / (1 + exp(-(s_i - s_j))) is the probability that document i is better than j; the cost of a pair is the
    cross entropy with P̄_ij: 1 where i has the higher label, or the probability of a preference pair. Each query counts
    by its weight, whatever its number of pairs.

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 2.

    """

    def _objective(self, query: TrainingSet) -> Objective | None:
        if self._pairs is None:
            if len(np.unique(query.labels)) < 2:
                return None
            return RankNetObjective(query.query_ptr, query.weights / pair_counts(query), query.labels)
        better, worse, probabilities = self._pairs.of_query(query.order)
        if not len(better):
            return None
        weights = np.full(len(better), query.weights[0] / len(better))
        return PreferencePairs(better, worse, probabilities, weights)
