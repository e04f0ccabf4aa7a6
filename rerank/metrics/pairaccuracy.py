"""Pair accuracy: the share of pairs that are not inverted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rerank.metrics.base import Measure
from rerank.metrics.lists import ratio
from rerank.metrics.pairs import fill_pair_deltas, pairs_in_order
from rerank.metrics.registry import register
from rerank.metrics.structures import RankedLists
from rerank.types import Floats, Ints


@register("PairAccuracy")
@dataclass(frozen=True)
class PairAccuracy(Measure):
    """1 - pairwise inversions / pairs of documents with different labels; higher is better.

    An inversion is a document ranked above a better one. A better document that is not retrieved is inverted with every
    worse one that is. A negative label counts as 0. A query without a pair of different labels has 0. With two grades
    this is AUC.

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 4, on the inversions that
    RankNet minimises.

    """

    takes_cutoff: ClassVar[bool] = False

    def scores(self, lists: RankedLists) -> Floats:
        """Return the share of every query."""
        return ratio(*pairs_in_order(_graded(lists)))

    def fill_swap_deltas(self, lists: RankedLists, depth: int, out: Floats, out_ptr: Ints) -> None:
        """Fill out with |Δ| of the share."""
        fill_pair_deltas(_graded(lists), depth, out, out_ptr)


def _graded(lists: RankedLists) -> RankedLists:
    return replace(lists, labels=np.maximum(lists.labels, 0.0))
