"""G and its binary form: gain discounted by the gain that the ranking has missed so far (trec_eval's G and binG)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.metrics.gains import graded
from rerank.metrics.graded import GradedMeasure
from rerank.metrics.lists import hit_positions, n_relevant, ranks, ratio, running_sums, sums, totals
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import RankedLists
from rerank.runtime.arithmetic import log2_of
from rerank.types import Floats, query_rows


@register("G", trec="G", trec_parameter="gains")
@dataclass(frozen=True)
class G(GradedMeasure):
    """Sum of gain / log2(2 + cost - gain so far), divided by the sum of all positive gains.

    The cost at a rank is the sum of the ideal gains up to that rank, each at least 1.
    """

    def scores(self, lists: RankedLists) -> Floats:
        """Return the G of every query."""
        gained, ideal, ideal_ptr = graded(lists, self.gains)
        rank = ranks(lists.query_ptr)
        cost = np.ones(len(gained))
        reached = np.flatnonzero(rank < np.diff(ideal_ptr)[query_rows(lists.query_ptr)])
        cost[reached] = np.maximum(ideal[ideal_ptr[query_rows(lists.query_ptr)[reached]] + rank[reached]], 1.0)
        missed = running_sums(cost, lists.query_ptr) - running_sums(gained, lists.query_ptr)
        return ratio(sums(gained / log2_of(2.0 + missed), lists.query_ptr), sums(ideal, ideal_ptr))


@register("binG", trec="binG")
@dataclass(frozen=True)
class BinG(BinaryMeasure):
    """Mean over all relevant documents of 1 / log2(2 + non-relevant documents above); 0 for those not retrieved."""

    takes_cutoff: ClassVar[bool] = False

    def scores(self, lists: RankedLists) -> Floats:
        """Return the binary G of every query."""
        query, rank, number = hit_positions(self.relevant(lists.labels), lists.query_ptr)
        return ratio(totals(query, 1.0 / log2_of(2.0 + rank - number), lists.n_queries), n_relevant(lists, self.rel))
