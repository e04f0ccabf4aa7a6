"""RankNet: a net on the logistic cost of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.objectives.base import Objective
from rerank.objectives.pairs import PreferencePairs, RankNetObjective
from rerank.rankers.nets import NetRanker
from rerank.rankers.registry import register
from rerank.rankers.training_set import TrainingSet, pair_counts


@register("ranknet")
@dataclass(eq=False, repr=False)
class RankNet(NetRanker):
    """A two-layer net that minimises the pairwise logistic cost.

    P_ij = 1 / (1 + exp(-(s_i - s_j))) is the probability that document i is better than j; the cost of a pair is the
    cross entropy with P̄_ij, which is 1 if i has the higher label, or the probability of a preference pair. The cost of
    a query is multiplied by its weight, whatever its number of pairs.

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 2.

    """

    learns_from_pairs: ClassVar[bool] = True

    def _objective(self, query: TrainingSet) -> Objective | None:
        if query.pairs is None:
            if len(np.unique(query.labels)) < 2:
                return None
            return RankNetObjective(query.query_ptr, query.weights / pair_counts(query), query.labels)
        return PreferencePairs(*query.weighted_pairs(evenly=True)) if len(query.pairs.better) else None
